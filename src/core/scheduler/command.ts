// The `npm run nightly` command: starts due nights, once or as a service.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { openLog } from '../../base/log.ts'
import { formatInstant } from '../../base/time/zone.ts'
import { forecastJson, forecastSentences, readCreditForecast } from '../forecast/foresee.ts'
import { refreshForecast } from '../forecast/stored-forecast.ts'
import { type Mill, openMill } from '../mill.ts'
import type { AfterRuns } from '../nights/after-runs.ts'
import { type Overdue, overdueNights } from '../nights/nights.ts'
import type { ChooseQueries } from './tick.ts'
import { loadSchedules, schedulesFile } from './schedule.ts'
import { keepTime, Scheduler } from './scheduler.ts'
import { formatNights, nightsJson, readNightForecast } from './show.ts'

export interface NightlyFlags {
  readonly show?: true
  readonly once?: true
  readonly file?: string
}

/** Features injected into this command, because only a job may import all of them. */
export interface NightlyParts {
  readonly afterRuns: AfterRuns
  readonly chooseQueries: ChooseQueries
  readonly monitor: (
    mill: Mill,
    watched: {
      readonly report: (line: string) => void
      readonly problems: () => readonly string[]
    },
  ) => Promise<{ close(): Promise<void> }>
  readonly sendNotices: (mill: Mill) => Promise<void>
}

export async function runNightly(call: Call<NightlyFlags>, beside: NightlyParts): Promise<Exit> {
  const { options, env, closers, signal } = call
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'nightly' })
  const file = options.file === undefined ? schedulesFile : callerPath(env, options.file)
  if (options.show === true) return showSchedules(mill, file, options.json === true)
  if (options.once === true) return tickOnce(mill, file, beside)
  return runScheduler(mill, { file, signal }, beside)
}

const shownDays = 7

async function showSchedules(mill: Mill, path: string, json: boolean): Promise<Exit> {
  const file = await loadSchedules(mill.db, { file: path, zone: mill.config.zone })
  const forecast = await readNightForecast(mill.db, file)
  const credits = await readCreditForecast(mill, { days: shownDays })
  if (json) printJson({ ...nightsJson(forecast), forecast: forecastJson(credits) })
  else print([formatNights(forecast), ...forecastSentences(credits, mill.config.zone)].join('\n\n'))
  if (file.schedules.length === 0 && file.refusals.length > 0) return exits.usage
  return sayOverdue(forecast.schedules.flatMap(({ overdue }) => overdue))
}

/** Reports overdue nights. Fails if there are any, because callers may read only the exit code. */
function sayOverdue(nights: readonly Overdue[]): Exit {
  for (const { schedule, dueAt, problem } of nights) {
    say(`OVERDUE: ${schedule}, due ${formatInstant(dueAt)}: ${problem}`)
  }
  return nights.length === 0 ? exits.done : exits.failures
}

async function tickOnce(mill: Mill, file: string, beside: NightlyParts): Promise<Exit> {
  const scheduler = new Scheduler(mill, { file, report: say, ...beside })
  try {
    await scheduler.tick()
  } finally {
    await scheduler.close()
    await beside.sendNotices(mill)
  }
  await refreshForecast(mill)
  if (!scheduler.usable) return exits.usage
  return sayOverdue(await overdueNights(mill.db))
}

async function runScheduler(
  mill: Mill,
  { file, signal }: { readonly file: string; readonly signal: AbortSignal },
  beside: NightlyParts,
): Promise<Exit> {
  const { api } = mill.config
  const log = await openLog('nightly', api === null ? [] : [api.key])
  const report = (line: string) => log.info(line)
  const scheduler = new Scheduler(mill, { file, report, ...beside })
  const monitor = await beside.monitor(mill, {
    report,
    problems: () => (scheduler.trouble === null ? [] : ['the last tick failed']),
  })
  try {
    await keepTime(mill, scheduler, { signal, report })
  } finally {
    await monitor.close()
  }
  return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
}
