import { exits, type Exit } from '../../shared/errors.ts'
import { openLog } from '../../shared/log.ts'
import type { Mill } from '../mill/mill.ts'
import { startMonitor } from '../monitor/monitor.ts'
import { keepTime } from './clock.ts'
import { Scheduler } from './scheduler.ts'

/** Schedules until the signal comes, with a log, and with what a monitor shows of it. */
export async function runScheduler(
  mill: Mill,
  { file, signal }: { file: string; signal: AbortSignal },
): Promise<Exit> {
  const { api } = mill.config
  const log = await openLog('nightly', api === null ? [] : [api.key])
  const tell = (line: string) => log.info(line)
  const scheduler = new Scheduler(mill, { file, tell })
  const monitor = await startMonitor(mill, {
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
