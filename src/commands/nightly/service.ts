import { exits, type Exit } from '../../shared/errors.ts'
import { openLog } from '../../shared/log.ts'
import type { Mill } from '../mill/mill.ts'
import type { AfterRuns } from '../mill/after-runs.ts'
import type { ChooseQueries } from './run.ts'
import { keepTime } from './clock.ts'
import { Scheduler } from './scheduler.ts'

/** What features add to a scheduler. */
export interface SchedulerParts {
  readonly afterRuns: AfterRuns
  readonly chooseQueries: ChooseQueries
  /** Health checks, metrics and news. */
  readonly monitor: (
    mill: Mill,
    watched: {
      readonly tell: (line: string) => void
      readonly problems: () => readonly string[]
    },
  ) => Promise<{ close(): Promise<void> }>
}

/** Schedules until the signal comes, with a log, and with what a monitor shows of it. */
export async function runScheduler(
  mill: Mill,
  { file, signal, beside }: { file: string; signal: AbortSignal; beside: SchedulerParts },
): Promise<Exit> {
  const { api } = mill.config
  const log = await openLog('nightly', api === null ? [] : [api.key])
  const tell = (line: string) => log.info(line)
  const scheduler = new Scheduler(mill, { file, tell, ...beside })
  const monitor = await beside.monitor(mill, {
    tell,
    problems: () => (scheduler.trouble === null ? [] : ['the last tick was not done']),
  })
  try {
    await keepTime(mill, scheduler, { signal, tell })
  } finally {
    await monitor.close()
  }
  return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
}
