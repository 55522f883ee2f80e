// The figures by which a run is compared with earlier ones, and how far each may be from what is usual.
import type { JudgedNight, NightFigures } from '../../store/nights/health.ts'
import { flawText } from '../../shared/terminal/wording.ts'

/** Of fewer answers a share says little. */
const leastAnswers = 5

/** A figure by which runs are compared. */
export interface Measure {
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
export const measures: readonly Measure[] = [
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
