// Starts the run of a night: reads its list again, plans the run and queues its tasks.

import type { Database } from '../../base/database/database.ts'
import { MillError, Misuse, Unreachable } from '../../base/errors.ts'
import { count } from '../../base/cli/text.ts'
import { formatMinute } from '../../base/time/zone.ts'
import { type ListPlan, planList, queueRun, intervalNotice } from '../enqueue/planning.ts'
import type { ListOrder } from '../enqueue/staging.ts'
import { noDefaults } from '../lists/options.ts'
import type { Supplier } from '../mill.ts'
import { advance, findList, NightTaken, recordNights, takeNight } from '../nights/nights.ts'
import type { SliceQueue } from '../queue/slice-jobs.ts'
import type { NightStep } from './decide.ts'
import { type Schedule, sharePhrase, sharesPhrase } from './schedule.ts'

/** Decides which queries of a list are bought on a night, and stores the decision. */
export type ChooseQueries = (
  mill: { readonly db: Database; readonly supplier: Supplier },
  night: {
    readonly listName: string
    readonly runDate: string
    readonly longestDays: number
  },
) => Promise<void>

export interface SchedulerContext {
  readonly db: Database
  readonly supplier: Supplier
  /** Maximum age of a reused answer if the schedule does not specify one. */
  readonly maxAgeMs: number
  readonly queue: () => Promise<Pick<SliceQueue, 'add'>>
  /**
   * Chooses the queries of lists with an adaptive cadence; if missing, all of their queries are bought.
   */
  readonly chooseQueries?: ChooseQueries
  readonly report: (line: string) => void
  /** Clock; the clock of the database is used, except in tests. */
  readonly now?: () => Promise<Date>
}

type RunStep = Extract<NightStep, { kind: 'run' }>

/** Plans the run of a night; does nothing if another scheduler was first. */
export async function runNight(
  context: SchedulerContext,
  schedule: Schedule,
  step: RunStep,
): Promise<void> {
  try {
    const { plan, note } = await planNight(context, schedule, step)
    await advance(context.db, schedule.name, step.known)
    const what = step.into === null ? `is run ${plan.run}` : `joined run ${plan.run}`
    const told = [planPhrase(plan), ...partNotice(schedule), ...intervalNotice(plan)]
    if (note !== null) told.push(note)
    context.report(
      `${described(schedule, [step.night])} ${what} (${step.outcome}): ${told.join('; ')}`,
    )
    await queueRun({ db: context.db }, await context.queue(), plan.run)
  } catch (error) {
    if (error instanceof NightTaken) return
    if (!(error instanceof Misuse)) throw error
    const note = error.message
    const { known, night } = step
    await recordNights(context.db, schedule.name, {
      nights: [night],
      outcome: 'failed',
      note,
      known,
    })
    context.report(`${described(schedule, [night])} failed: ${note}`)
  }
}

function partNotice({ part }: Schedule): readonly string[] {
  return part === null ? [] : [`if credits run short, ${sharePhrase(part)} of them go to this list`]
}

function planPhrase({ queued, reused, notAsked, dropped, rejected, shares }: ListPlan): string {
  return [
    `${queued} to buy`,
    `${reused} reused`,
    ...(notAsked === 0 ? [] : [`${notAsked} not asked`]),
    ...(dropped === 0 ? [] : [`${dropped} dropped, since the list no longer has them`]),
    ...shares.map((one) => `${sharesPhrase([one])} for ${one.queued} of them`),
    ...(rejected === 0 ? [] : [`${count(rejected, 'line')} rejected`]),
  ].join(', ')
}

/** Plans from the current file or, if that is missing or broken, from its last successful reading. */
async function planNight(context: SchedulerContext, schedule: Schedule, step: RunStep) {
  const { path, list: shown, listName, cadence } = schedule
  const { night, outcome, into } = step
  const joins = into === null ? null : `joined run ${into.run} of ${into.date}`
  const plan = (from: ListOrder['from'], note: string | null) =>
    planList(context, {
      list: listName,
      from,
      // Nobody can confirm anything at night, so a file that needs confirmation counts as broken.
      reading: {
        ...schedule.reading,
        matchTypes: schedule.reading.matchTypes ?? 'keep',
        defaults: { ...noDefaults, priority: schedule.priority },
      },
      kind: 'nightly',
      runDate: night.date,
      budget: schedule.budget,
      maxAgeMs: schedule.maxAgeMs ?? context.maxAgeMs,
      adaptive: context.chooseQueries !== undefined && cadence.kind === 'adaptive',
      part: schedule.part,
      shares: schedule.shares,
      into: into?.run ?? null,
      record: (trx, run) =>
        takeNight(trx, { schedule: schedule.name, ...night, outcome, run, note }),
    })
  if (cadence.kind === 'adaptive') {
    const { longestDays } = cadence
    await context.chooseQueries?.(context, { listName, runDate: night.date, longestDays })
  }
  try {
    return { plan: await plan({ kind: 'file', path, shown }, joins), note: joins }
  } catch (error) {
    if (!(error instanceof MillError) || error instanceof Unreachable) throw error
    const known = await findList(context.db, listName)
    if (known === null) throw error
    const why = `the queries last read are used, since the list cannot be read: ${error.message}`
    const note = joins === null ? why : `${joins}; ${why}`
    return { plan: await plan({ kind: 'members', list: known }, note), note }
  }
}

/** Formats a schedule and its times in its own zone. */
export function described(
  { name, zone }: Pick<Schedule, 'name' | 'zone'>,
  nights: readonly { readonly at: Date }[],
): string {
  const [first] = nights
  const last = nights.at(-1)
  if (first === undefined || last === undefined) return name
  const times =
    first === last
      ? formatMinute(zone, first.at)
      : `${formatMinute(zone, first.at)} to ${formatMinute(zone, last.at)} (${nights.length} times)`
  return `${name} of ${times} ${zone}`
}
