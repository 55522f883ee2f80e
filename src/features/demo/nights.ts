// Runs the demo's nights one after another.
import { join } from 'node:path'
import { root } from '../../base/root.ts'
import { dayMs, localDate } from '../../base/time/zone.ts'
import { planList, queueRun } from '../../core/enqueue/planning.ts'
import { cancelRun } from '../../core/ledger/change-tasks.ts'
import { noDefaults } from '../../core/lists/options.ts'
import type { Mill } from '../../core/mill.ts'
import { endRuns } from '../../core/nights/judge.ts'
import { usualLongestDays } from '../../core/scheduler/schedule.ts'
import type { Summary } from '../../core/worker/summary.ts'
import { work } from '../../core/worker/work.ts'
import { endNights } from '../alerts/find-alerts.ts'
import { decideByName } from '../cadence/choose.ts'

export const file = { shown: 'inputs/keywords.csv', queries: 60 }

/** Faults injected into nights, with descriptions. */
const purposes = {
  empty: 'every answer empty',
  shallow: 'answers a tenth as deep',
  failing: 'two of five queries fail',
  nobody: 'no worker',
  html: 'HTML instead of answers',
  dear: 'three times the price',
} as const

type Purpose = keyof typeof purposes

/** Simulated API for the month, with controls for its faults and its balance. */
export interface MonthStage {
  readonly url: string
  readonly key: string
  readonly set: (fault: Purpose | null) => void
  readonly change: (credits: number) => void
}

/** Minimum number of nights that leaves room for all faults and for the normal nights before them. */
export const leastNights = 12

const usualNights = 4
const plannedPurposes = Object.keys(purposes) as readonly Purpose[]

/** Chooses a night's fault; null for a normal night. After the first nights, each fault occurs once. */
export function purposeOf(night: number, nights: number): Purpose | null {
  const apart = Math.floor((nights - usualNights) / plannedPurposes.length)
  const since = night - usualNights
  return since < 0 || since % apart > 0 ? null : (plannedPurposes[since / apart] ?? null)
}

/** Chooses a single fault for the whole history. The fault occurs four nights before the newest night. */
export function onePurpose(night: number, nights: number): Purpose | null {
  return night === nights - 5 ? 'shallow' : null
}

const spentByOthers = 25

/** Half the credits that the nights, five spare nights and others need. The second half is added halfway through. */
export function supplyOf(nights: number, queries: number): number {
  return Math.ceil(((nights + 5) * queries + spentByOthers) / 2)
}

/** Options for the demo's workers, which buy until nothing is left to buy. */
interface Draining {
  readonly signal: AbortSignal
  readonly report: (line: string) => void
}

/** Buys the sample list: reads the file, plans a run and buys the answers, as `enqueue` and `work` do. */
export async function runSample(mill: Mill, options: Draining): Promise<Summary> {
  const { zone, maxAgeMs } = mill.config
  const runDate = localDate(zone, new Date())
  await planSample(mill, { list: 'keywords', kind: 'manual', runDate, maxAgeMs })
  return drain(mill, options)
}

export interface History extends Draining {
  readonly nights: number
  readonly setDay: (day: Date) => void
  readonly list: string
  /** Controls for the simulated API; null if the history has no faults. */
  readonly stage: MonthStage | null
  readonly purpose?: typeof purposeOf
  /** If true, the cadence is adaptive in the second half of the nights. */
  readonly rests?: boolean
}

/** Plans and buys one run per day, oldest first, through the real pipeline. */
export async function runNights(
  mill: Mill,
  { nights, setDay, list, stage, purpose: choose = purposeOf, rests = false, ...options }: History,
): Promise<Summary | null> {
  let last: Summary | null = null
  for (let ago = nights - 1; ago >= 0 && !options.signal.aborted; ago -= 1) {
    // The sample was bought today, so an adaptive list would not be bought again. Its history ends yesterday.
    const day = new Date(Date.now() - (rests ? ago + 1 : ago) * dayMs)
    setDay(day)
    const runDate = localDate(mill.config.zone, day)
    // Answers for past run dates are bought today. The list name shows that the history is simulated.
    const night = nights - 1 - ago
    const purpose = stage === null ? null : choose(night, nights)
    if (stage !== null) setTheStage(stage, { purpose, night, nights })
    const adaptive = rests && ago < nights / 2
    const asked = { listName: list, runDate, longestDays: usualLongestDays }
    if (adaptive) await decideByName(mill, asked)
    const planned = { list, kind: 'nightly' as const, runDate, maxAgeMs: 0, adaptive }
    const { run } = await planSample(mill, planned)
    const marked = purpose === null ? '' : `; on purpose: ${purposes[purpose]}`
    if (purpose === 'nobody') {
      options.report(`${runDate}: nothing answered${marked}`)
      // Cancels the remaining tasks, as the following night would do.
      await cancelRun(mill.db, run)
      await endRuns(mill.db, options.report)
      continue
    }
    last = await drain(mill, options)
    options.report(`${runDate}: ${last.answered} answered${marked}`)
    if (last.finish !== 'completed') break
  }
  return last
}

/** Sets up a night's fault. Others spend credits early in the history, and halfway through there is a top-up. */
function setTheStage(
  stage: MonthStage,
  { purpose, night, nights }: { purpose: Purpose | null; night: number; nights: number },
): void {
  stage.set(purpose)
  if (night === Math.floor(nights / 2)) stage.change(supplyOf(nights, file.queries))
  if (night === 2) stage.change(-spentByOthers)
}

type Sample = Pick<
  Parameters<typeof planList>[1],
  'list' | 'kind' | 'runDate' | 'maxAgeMs' | 'adaptive'
>

async function planSample(mill: Mill, given: Sample) {
  const { shown } = file
  const plan = await planList(mill, {
    ...given,
    from: { kind: 'file', path: join(root, shown), shown },
    reading: { matchTypes: 'keep', defaults: noDefaults },
    budget: undefined,
    into: null,
  })
  await queueRun(mill, await mill.queue(), plan.run)
  return plan
}

function drain(mill: Mill, options: Draining): Promise<Summary> {
  const { concurrency: lanes } = mill.config
  return work(mill, { drain: true, lanes, afterRuns: endNights, ...options })
}
