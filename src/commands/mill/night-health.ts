// Judges runs that have ended: whether their answers can be trusted, beside earlier runs of their list.
import type { Database } from '../../store/database.ts'
import { closeRuns } from '../../store/slices.ts'
import {
  readEnded,
  readNight,
  readNightsBefore,
  saveHealth,
  type JudgedNight,
  type NightJudgement,
  type NightFigures,
  type NightsBefore,
} from '../../store/nights/health.ts'
import { measures, type Measure } from './night-measures.ts'

/** Closes runs of which nothing is open any more, and judges them; says which are odd. */
export async function endRuns(db: Database, tell: (line: string) => void): Promise<void> {
  await closeRuns(db)
  // One after the other: each is measured by those before it, which this look may have judged just now.
  for (const run of await readEnded(db)) {
    const night = await readNight(db, run.id)
    const judgement = run.complete ? judgeNight(night, await readNightsBefore(db, run)) : nothingOdd
    await saveHealth(db, night, judgement)
    const { reasons, remarks } = judgement
    const odd = [...reasons, ...remarks].join('; ')
    if (reasons.length > 0) tell(`run ${run.id} is suspect, and left out of trends: ${odd}`)
    else if (remarks.length > 0) tell(`run ${run.id} is odd, and shown all the same: ${odd}`)
  }
}

/** Fewer earlier runs say too little of what is usual. */
const leastBefore = 3

const nothingOdd: NightJudgement = { reasons: [], remarks: [], usualFrom: null }

/**
 * Judges a run beside earlier ones of its list. Shares have to differ by more than chance would make them, four times over;
 * without a past a run is suspect only when nearly all of it is wrong. What the third run in a row has alike is the usual
 * from then on.
 */
export function judgeNight(night: JudgedNight, { usual, last }: NightsBefore): NightJudgement {
  if (night.asked === 0) return nothingOdd
  if (night.answered + night.unreadable === 0) {
    return { ...nothingOdd, reasons: [`none of ${night.asked} queries was answered`] }
  }
  const reasons: string[] = []
  const remarks: string[] = []
  let usualFrom: number | null = null
  for (const measure of measures) {
    const value = usualOf(measure, usual)
    if (!isOdd(measure, night, value)) continue
    const sentence = describe(measure, night, value)
    const [newer, older] = last
    if (
      newer !== undefined &&
      older !== undefined &&
      isRepeated(measure, [night, newer, older], value)
    ) {
      usualFrom = older.run_id
      remarks.push(`${sentence}; so it was in the two runs before, and is the usual from now on`)
    } else {
      const odd = measure.hides ? reasons : remarks
      odd.push(sentence)
    }
  }
  return { reasons, remarks, usualFrom }
}

/** The usual value of a figure; null: too few runs have one. */
function usualOf(measure: Measure, nights: readonly NightFigures[]): number | null {
  const values = nights.map(measure.of).filter((value) => value !== null)
  return values.length < leastBefore ? null : median(values)
}

function isOdd(measure: Measure, night: NightFigures, usual: number | null): boolean {
  const value = measure.of(night)
  if (value === null) return false
  return usual === null
    ? (measure.wrong?.(value, night) ?? false)
    : measure.differs(value, usual, night)
}

/**
 * Whether three runs are odd alike: all of them in this figure, and beside one another neither in this figure nor in one
 * that says something about ranks. Runs whose answers show nothing never are.
 */
function isRepeated(
  measure: Measure,
  nights: readonly NightFigures[],
  usual: number | null,
): boolean {
  const compared = measures.filter((one) => one.hides || one === measure)
  return nights.every(
    (night) =>
      isOdd(measure, night, usual) &&
      !compared.some((one) => one.hopeless === true && isOdd(one, night, null)) &&
      nights.every((other) => compared.every((one) => !isOdd(one, night, one.of(other)))),
  )
}

function describe(measure: Measure, night: JudgedNight, usual: number | null): string {
  const sentence = measure.say(measure.show(measure.of(night) ?? 0))
  const beside = usual === null ? sentence : `${sentence}, usually ${measure.show(usual)}`
  const known = measure.known?.(night) ?? ''
  return known === '' ? beside : `${beside} (${known})`
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}
