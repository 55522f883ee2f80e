// The order in which files are run. Files that keep a core busy for minutes, and files that wait for clocks and
// processes for minutes, come first, because they would otherwise finish last.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const first = [
  'desk/browser.test.ts',
  'core/worker/kills.test.ts',
  'core/worker/kills-on-redis.test.ts',
  'features/demo/demo.test.ts',
  'core/worker/outages.test.ts',
  'whole/going-on.test.ts',
  'core/scheduler/processes.test.ts',
  'core/worker/work.test.ts',
  'core/worker/power-failures.test.ts',
  'whole/thirty-nights.test.ts',
  'base/embedded/postgres.test.ts',
  'service/upstream/quality.test.ts',
  'whole/bad-lists.test.ts',
  'core/nights/finish.test.ts',
  'core/ledger/reservation.test.ts',
  'whole/mill.test.ts',
  'core/runs/retry.test.ts',
  'features/notifications/rules.test.ts',
  'core/queue/redis.test.ts',
  'features/forget/killed.test.ts',
  'base/embedded/service.test.ts',
  'features/analysis/archive.test.ts',
  'whole/untrue-bills.test.ts',
  'whole/floor.test.ts',
  'core/worker/reporter.test.ts',
  'core/worker/unwritten.test.ts',
  'whole/failover.test.ts',
  'whole/asked-again.test.ts',
  'desk/report/page.test.ts',
  'whole/early-signals.test.ts',
  'core/answers/lossless.test.ts',
  'whole/near-the-floor.test.ts',
  'whole/promises.test.ts',
  'whole/frozen-worker.test.ts',
  'features/archive/archive.test.ts',
  'whole/silent-database.test.ts',
  'core/ledger/messages.test.ts',
  'core/worker/full-disk.test.ts',
  'whole/answers-without-results.test.ts',
  'core/scheduler/simulation.test.ts',
  'core/ledger/model.test.ts',
  'core/scheduler/command.test.ts',
  'whole/shares-of-lists.test.ts',
  'whole/lasting-changes.test.ts',
  'whole/frozen-calls.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // eslint-disable-next-line unicorn/no-array-sort -- the test runner's own method, not that of an array
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const place = first.findIndex((file) => moduleId.endsWith(`/test/${file}`))
  return place === -1 ? first.length : place
}
