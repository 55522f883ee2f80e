// Judges runs that have ended: whether their answers can be trusted.

import { flawText } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { closeRuns } from '../queue/open-slices.ts'
import {
  type JudgedNight,
  type NightFigures,
  type NightJudgement,
  type NightsBefore,
  readEnded,
  readNight,
  readNightsBefore,
  saveHealth,
} from './health.ts'

// Judges runs that have ended: whether their answers can be trusted, beside earlier runs of their list.

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

// The figures by which a run is compared with earlier ones, and how far each may be from what is usual.

/** Of fewer answers a share says little. */
const leastAnswers = 5

/** A figure by which runs are compared. */
interface Measure {
  /** False: it says nothing about ranks, so that the ranks are shown all the same. */
  readonly hides: boolean
  /** The figure of a run; null: it has none. */
  readonly of: (night: NightFigures) => number | null
  /** Whether the figure of a run is odd where another one is usual. */
  readonly differs: (value: number, usual: number, night: NightFigures) => boolean
  /** Whether it is odd where nobody knows what is usual; missing: never. */
  readonly wrong?: (value: number, night: NightFigures) => boolean
  /** True: the answers of a run that is wrong by itself show nothing, so that it never becomes the usual. */
  readonly hopeless?: true
  readonly show: (value: number) => string
  /** The sentence of a value that `show` has written. */
  readonly say: (shown: string) => string
  /** What is known of the cause; empty: nothing. */
  readonly known?: (night: JudgedNight) => string
}

/** Whatever may be odd about a run. One more figure is one more entry. */
const measures: readonly Measure[] = [
  {
    hides: true,
    of: ({ answered, unreadable, asked }) => (asked === 0 ? null : (answered + unreadable) / asked),
    differs: (value, usual, { asked }) => usual - value > beyondChance(usual, asked),
    wrong: (value) => value < 0.5,
    show: percent,
    say: (shown) => `${shown} of the queries were answered`,
  },
  shareOfAnswers({
    part: ({ empty }) => empty,
    whole: ({ answered }) => answered,
    say: (shown) => `${shown} of the answers have no result`,
  }),
  {
    ...shareOfAnswers({
      part: ({ unreadable }) => unreadable,
      whole: ({ answered, unreadable }) => answered + unreadable,
      say: (shown) => `${shown} of the answers cannot be read`,
    }),
    known: flawText,
  },
  {
    hides: true,
    of: ({ depth }) => depth,
    differs: (value, usual, { answered, empty }) =>
      answered - empty >= leastAnswers && value < usual * 0.6,
    show: rounded,
    say: (shown) => `answers are ${shown} results deep`,
  },
  {
    hides: false,
    of: ({ price }) => price,
    differs: (value, usual, { answered }) =>
      answered >= leastAnswers && usual > 0 && value > usual * 2,
    show: rounded,
    say: (shown) => `an answer cost ${shown} credits`,
  },
  {
    hides: false,
    of: ({ minutes, paused_minutes: paused }) => (minutes - paused) / 60,
    differs: (value, usual) => value > usual * 5 && value - usual > 1,
    show: rounded,
    say: (shown) => `it took ${shown} hours`,
  },
]

/** A share of the answers that is bad where it is large. */
function shareOfAnswers({
  part,
  whole,
  say,
}: {
  readonly part: (night: NightFigures) => number
  readonly whole: (night: NightFigures) => number
  readonly say: Measure['say']
}): Measure {
  return {
    hides: true,
    of: (night) => (whole(night) === 0 ? null : part(night) / whole(night)),
    differs: (value, usual, night) =>
      value - usual > beyondChance(usual, whole(night)) && whole(night) * (value - usual) >= 2,
    wrong: (value, night) => value > 0.9 && whole(night) >= leastAnswers,
    hopeless: true,
    show: percent,
    say,
  }
}

/** How far a share of so many may be from its usual value: chance four times over, and a fifth in any case. */
function beyondChance(usual: number, many: number): number {
  return Math.max(0.2, 4 * Math.sqrt(Math.max(usual * (1 - usual), 0.01) / many))
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value))
}
