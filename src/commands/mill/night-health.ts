import type { Database } from '../../store/database.ts'
import { closeRuns } from '../../store/slices.ts'
import {
  readEnded,
  readNight,
  readNightsBefore,
  saveHealth,
  type NightFigures,
} from '../../store/nights/health.ts'

/** Judges every run that ended since it was last judged; gives those that are suspect, with the reasons. */
async function judgeNights(
  db: Database,
): Promise<readonly { readonly run: number; readonly reasons: readonly string[] }[]> {
  const suspect: { run: number; reasons: readonly string[] }[] = []
  // One after the other: each is measured by those before it, which this look may have judged just now.
  for (const run of await readEnded(db)) {
    const night = await readNight(db, run.id)
    const reasons = judgeNight(night, await readNightsBefore(db, run))
    await saveHealth(db, night, reasons)
    if (reasons.length > 0) suspect.push({ run: run.id, reasons })
  }
  return suspect
}

/** Closes runs of which nothing is open any more, and judges them; says which are suspect. */
export async function endRuns(db: Database, tell: (line: string) => void): Promise<void> {
  await closeRuns(db)
  for (const { run, reasons } of await judgeNights(db)) {
    tell(`run ${run} is suspect, and left out of trends: ${reasons.join('; ')}`)
  }
}

/** Fewer earlier runs say too little of what is usual. */
const leastBefore = 3
/** Of fewer answers a share says little. */
const leastAnswers = 5

/**
 * What is odd about a run beside the earlier ones of its list, a sentence each. Shares have to differ by more than
 * chance would make them, four times over; what has no past is suspect only when nearly all of it is wrong.
 */
export function judgeNight(
  night: NightFigures,
  before: readonly NightFigures[],
): readonly string[] {
  if (night.asked === 0) return []
  if (night.answered + night.unreadable === 0) return [nothingAnswered(night)]
  const past = before.length >= leastBefore ? before : null
  const found = [
    answeredOdd(night, past),
    shareOdd(night, past, { ...emptiness, all: night.answered }),
    shareOdd(night, past, { ...unreadability, all: night.answered + night.unreadable }),
    depthOdd(night, past),
    priceOdd(night, past),
    slowOdd(night, past),
  ]
  return found.filter((reason) => reason !== null)
}

function nothingAnswered({ asked, workers }: NightFigures): string {
  return workers === 0
    ? `none of ${asked} queries was answered, and no worker was at work`
    : `none of ${asked} queries was answered`
}

type Past = readonly NightFigures[] | null

function answeredOdd(night: NightFigures, past: Past): string | null {
  const shareOf = ({ answered, unreadable, asked }: NightFigures) => (answered + unreadable) / asked
  const share = shareOf(night)
  const usual = past === null ? null : median(past.map(shareOf))
  const odd = usual === null ? share < 0.5 : usual - share > beyondChance(usual, night.asked)
  return odd ? `${percent(share)} of the queries were answered${usually(usual, percent)}` : null
}

interface Share {
  readonly of: (night: NightFigures) => number
  readonly whole: (night: NightFigures) => number
  readonly what: string
}

const emptiness: Share = {
  of: ({ empty }) => empty,
  whole: ({ answered }) => answered,
  what: 'of the answers have no result',
}

const unreadability: Share = {
  of: ({ unreadable }) => unreadable,
  whole: ({ answered, unreadable }) => answered + unreadable,
  what: 'of the answers cannot be read',
}

function shareOdd(
  night: NightFigures,
  past: Past,
  { of, whole, what, all }: Share & { readonly all: number },
): string | null {
  if (all === 0) return null
  const share = of(night) / all
  const shares = past?.filter((one) => whole(one) > 0).map((one) => of(one) / whole(one)) ?? []
  const usual = shares.length < leastBefore ? null : median(shares)
  const odd =
    usual === null
      ? share > 0.9 && all >= leastAnswers
      : share - usual > beyondChance(usual, all) && all * (share - usual) >= 2
  return odd ? `${percent(share)} ${what}${usually(usual, percent)}` : null
}

function depthOdd({ depth, answered, empty }: NightFigures, past: Past): string | null {
  const usual = medianOf(past, (night) => night.depth)
  if (depth === null || usual === null || answered - empty < leastAnswers) return null
  return depth < usual * 0.6
    ? `answers are ${rounded(depth)} results deep${usually(usual, rounded)}`
    : null
}

function priceOdd({ price, answered }: NightFigures, past: Past): string | null {
  const usual = medianOf(past, (night) => night.price)
  if (price === null || usual === null || usual === 0 || answered < leastAnswers) return null
  return price > usual * 2
    ? `an answer cost ${rounded(price)} credits${usually(usual, rounded)}`
    : null
}

function slowOdd({ minutes }: NightFigures, past: Past): string | null {
  const usual = medianOf(past, (night) => night.minutes)
  if (usual === null || minutes <= usual * 5 || minutes - usual <= 60) return null
  return `it took ${rounded(minutes / 60)} hours${usually(usual / 60, rounded)}`
}

/** How far a share of so many may be from its usual value: chance four times over, and a fifth in any case. */
function beyondChance(usual: number, many: number): number {
  return Math.max(0.2, 4 * Math.sqrt(Math.max(usual * (1 - usual), 0.01) / many))
}

function medianOf(past: Past, read: (night: NightFigures) => number | null): number | null {
  const values = past?.map(read).filter((value) => value !== null) ?? []
  return values.length < leastBefore ? null : median(values)
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

function usually(usual: number | null, show: (value: number) => string): string {
  return usual === null ? '' : `, usually ${show(usual)}`
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value))
}
