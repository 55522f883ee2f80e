import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { openMill, type Mill } from '../mill/mill.ts'
import { outlookJson, outlookSentences, readCreditOutlook } from '../mill/outlook.ts'
import { loadSchedules, schedulesFile } from './file.ts'
import { readNightOutlook } from './outlook.ts'
import { Scheduler } from './scheduler.ts'
import { formatNights, nightsJson } from './show.ts'

/** What can be typed after `npm run nightly --`. */
export interface NightlyFlags {
  readonly show?: true
  readonly once?: true
  readonly json?: true
  readonly file?: string
}

/** Shows the schedules, does what is due once, or schedules until it is stopped. */
export async function runNightly(call: Call<NightlyFlags>): Promise<Exit> {
  const { options, env, closers, signal } = call
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'nightly', connections: 4 })
  const file = options.file === undefined ? schedulesFile : callerPath(env, options.file)
  if (options.show === true) return showSchedules(mill, file, options.json === true)
  if (options.once === true) return tickOnce(mill, file)
  // A log and metrics are for what runs for long; nobody else waits for them to be loaded.
  const { runScheduler } = await import('./service.ts')
  return runScheduler(mill, { file, signal })
}

const shownDays = 7

async function showSchedules(mill: Mill, path: string, json: boolean): Promise<Exit> {
  const file = await loadSchedules(mill.db, { file: path, zone: mill.config.zone })
  const outlook = await readNightOutlook(mill.db, file)
  const credits = await readCreditOutlook(mill, { days: shownDays })
  if (json) printJson({ ...nightsJson(outlook), outlook: outlookJson(credits) })
  else print([formatNights(outlook), ...outlookSentences(credits, mill.config.zone)].join('\n\n'))
  return file.schedules.length === 0 && file.refusals.length > 0 ? exits.usage : exits.done
}

async function tickOnce(mill: Mill, file: string): Promise<Exit> {
  const scheduler = new Scheduler(mill, { file, tell: say })
  try {
    await scheduler.tick()
  } finally {
    await scheduler.close()
  }
  return scheduler.usable ? exits.done : exits.usage
}
