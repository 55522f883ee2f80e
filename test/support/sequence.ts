// In which order files are tried. Those that keep a core busy for minutes come first, and those that wait for minutes, for
// clocks and processes: begun last, they would end alone.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const first = [
  'credits/messages.test.ts',
  'commands/desk/browser.test.ts',
  'commands/nightly/processes.test.ts',
  'commands/demo/demo.test.ts',
  'commands/work/outages.test.ts',
  'whole/silent-database.test.ts',
  'commands/work/unwritten.test.ts',
  'whole/promises.test.ts',
  'credits/model.test.ts',
  'commands/archive/upload.test.ts',
  'commands/nightly/simulation.test.ts',
  'commands/nightly/command.test.ts',
  'embedded/postgres.test.ts',
  'embedded/service.test.ts',
  'whole/asked-again.test.ts',
  'whole/shares-of-lists.test.ts',
  'whole/lasting-changes.test.ts',
  'whole/frozen-calls.test.ts',
  'commands/work/work.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // eslint-disable-next-line unicorn/no-array-sort -- the test runner's own, not that of an array
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const place = first.findIndex((file) => moduleId.endsWith(`/test/${file}`))
  return place === -1 ? first.length : place
}
