// Judges finished runs by plausibility rules and by comparison with earlier runs of their list.

import { npmRun } from '../../base/cli/commands.ts'
import { count, flawText } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { closeRuns } from '../queue/open-slices.ts'
import {
  type Doubt,
  figuresOf,
  findDoubts,
  type RunAnswer,
  type ScoredAnswer,
  scoreAnswers,
} from './evidence.ts'
import {
  type EndedRun,
  type JudgedNight,
  type NightFigures,
  type NightJudgement,
  type NightsBefore,
  readEnded,
  readNight,
  readNightsBefore,
  readRunAnswers,
} from './health.ts'
import { analyzeChanged } from './finish.ts'
import { saveJudgement } from './quarantine.ts'

interface Judging {
  readonly report: (line: string) => void
  /** Runs a long read on a patient connection, because a worker's connections to the ledger soon give up. */
  readonly reading?: <T>(read: (db: Database) => Promise<T>) => Promise<T>
}

/** Closes and judges the runs that have no work left. */
export async function endRuns(db: Database, judging: Judging): Promise<void> {
  await closeRuns(db)
  // Judges one run at a time, because each run is compared with earlier runs, which may just have been judged.
  const ended = await readEnded(db)
  for (const run of ended) await judgeEnded(db, run, judging)
  // Analysts often ask questions right after a run.
  if (ended.length > 0) await (judging.reading ?? ((read) => read(db)))(analyzeChanged)
}

/** Judges one run by the rules and any manual decisions, and stores the result. */
export async function judgeEnded(db: Database, run: EndedRun, { report, reading }: Judging) {
  const night = await (reading ?? ((read) => read(db)))((patient) => readNight(patient, run.id))
  const { reasons, remarks, quarantined } = await saveJudgement(
    db,
    run.complete
      ? stored(judgeRun(night, await readRunAnswers(db, run), await readNightsBefore(db, run)))
      : { night, judgement: nothingOdd, evidence: [], doubts: [] },
  )
  const odd = [...reasons, ...remarks].join('; ')
  if (reasons.length > 0) report(`run ${run.id} is suspect and was left out of trends: ${odd}`)
  else if (remarks.length > 0) report(`run ${run.id} is odd, but shown: ${odd}`)
  if (reasons.length === 0 && quarantined > 0) {
    report(
      `${count(quarantined, 'answer')} of run ${run.id} ${quarantined === 1 ? 'is' : 'are'} quarantined: ${npmRun('trust --')} show --run ${run.id}`,
    )
  }
}

function stored({ night, findings, doubts }: ReturnType<typeof judgeRun>) {
  const evidence = findings.map(({ rule, score, usual, verdict }) => ({
    ...{ rule: rule.name, score, usual, verdict },
  }))
  return { night, evidence, doubts, judgement: judgementOf(night, findings) }
}

/** Judges a run. Quarantines only the bad answers if they are a minority and the others resemble earlier runs. */
export function judgeRun(sums: JudgedNight, answers: readonly RunAnswer[], before: NightsBefore) {
  const scored = scoreAnswers(answers)
  const single = findDoubts(scored)
  if (single.length * 2 > scored.length) {
    const doubted = single.length / scored.length
    return { ...judgeRest({ ...sums, doubted }, scored, before), doubts: [] }
  }
  const rest = without(scored, single)
  const judged = judgeRest(sums, rest, before)
  const odd = judged.findings.filter(({ verdict }) => verdict === 'quarantine')
  const blamed = odd.every(({ rule }) => rule.each !== undefined) ? blameAnswers(odd, rest) : []
  if (blamed.length === 0 || (single.length + blamed.length) * 2 > scored.length) {
    return { ...judged, doubts: odd.length === 0 ? single : [] }
  }
  const cleared = judgeRest(sums, without(rest, blamed), before)
  const stillOdd = cleared.findings.some(({ verdict }) => verdict === 'quarantine')
  return stillOdd ? { ...judged, doubts: [] } : { ...cleared, doubts: [...single, ...blamed] }
}

function judgeRest(sums: JudgedNight, scored: readonly ScoredAnswer[], before: NightsBefore) {
  const night = { ...sums, ...figuresOf(scored) }
  return { night, findings: findingsOf(night, before) }
}

function without(scored: readonly ScoredAnswer[], doubts: readonly Doubt[]) {
  const doubted = new Set(doubts.map(({ search_id: id }) => id))
  return scored.filter(({ answer }) => !doubted.has(answer.search_id))
}

function blameAnswers(odd: readonly Finding[], scored: readonly ScoredAnswer[]): readonly Doubt[] {
  return scored.flatMap((one): Doubt[] => {
    const cause = odd.find(({ rule }) => (rule.each?.(one) ?? 0) >= blamedFrom)
    if (cause === undefined) return []
    const score = cause.rule.each?.(one) ?? 0
    const reason = `the run is odd partly because of this answer: ${cause.says}`
    return [{ search_id: one.answer.search_id, reason, score }]
  })
}

/** Minimum score of an answer that counts as a cause of an unusual run. */
const blamedFrom = 0.7

/** Minimum number of earlier runs. With fewer runs, the usual value of a figure is not known. */
const leastBefore = 3

const nothingOdd: NightJudgement = { reasons: [], remarks: [], usualFrom: null }

interface Finding {
  readonly rule: Rule
  readonly score: number
  /** Usual value of the figure; null if fewer than three earlier runs have the figure. */
  readonly usual: number | null
  readonly verdict: 'fine' | 'notice' | 'lasting' | 'quarantine'
  readonly says: string
  /** First of three similar runs, if the verdict is `lasting`. */
  readonly since: number | null
}

/** Converts findings to sentences: reasons to exclude the run, and other remarks. */
export function judgementOf(night: JudgedNight, findings: readonly Finding[]): NightJudgement {
  if (night.asked > 0 && night.answered + night.unreadable === 0) {
    return { ...nothingOdd, reasons: [`none of the ${night.asked} queries was answered`] }
  }
  const said = (...verdicts: readonly Finding['verdict'][]) =>
    findings.filter(({ verdict }) => verdicts.includes(verdict)).map(({ says }) => says)
  return {
    reasons: said('quarantine'),
    remarks: said('notice', 'lasting'),
    usualFrom: findings.findLast(({ since }) => since !== null)?.since ?? null,
  }
}

/** Compares a run with earlier runs. A deviation that occurs in three consecutive runs is considered normal. */
export function findingsOf(night: JudgedNight, { usual, last }: NightsBefore): readonly Finding[] {
  if (night.asked === 0 || night.answered + night.unreadable === 0) return []
  return rules.flatMap((rule): Finding[] => {
    const score = rule.of(night)
    if (score === null) return []
    const value = usualOf(rule, usual)
    const finding = { rule, score, usual: value, says: describe(rule, night, value), since: null }
    if (!isOdd(rule, night, value)) return [{ ...finding, verdict: 'fine' }]
    const [newer, older] = last
    if (newer !== undefined && older && isRepeated(rule, [night, newer, older], value)) {
      const says = `${finding.says}; the two previous runs were similar, so this is the new normal`
      return [{ ...finding, says, verdict: 'lasting', since: older.run_id }]
    }
    return [{ ...finding, verdict: rule.harmless === true ? 'notice' : 'quarantine' }]
  })
}

function usualOf(rule: Rule, nights: readonly NightFigures[]): number | null {
  const values = nights.map(rule.of).filter((value) => value !== null)
  return values.length < leastBefore ? null : median(values)
}

function isOdd(rule: Rule, night: NightFigures, usual: number | null): boolean {
  const value = rule.of(night)
  if (value === null) return false
  return usual === null ? (rule.wrong?.(value, night) ?? false) : rule.differs(value, usual, night)
}

/** True if this figure is unusual in three usable runs that are similar in all figures that affect ranks. */
function isRepeated(rule: Rule, nights: readonly NightFigures[], usual: number | null): boolean {
  const compared = rules.filter((one) => one.harmless !== true || one === rule)
  const [newest, newer] = nights
  if (rule.lasts !== undefined && ![newest, newer].every((one) => one && rule.lasts?.(one)))
    return false
  return nights.every(
    (night) =>
      isOdd(rule, night, usual) &&
      !compared.some((one) => one.hopeless === true && isOdd(one, night, null)) &&
      nights.every((other) => compared.every((one) => !isOdd(one, night, one.of(other)))),
  )
}

function describe(rule: Rule, night: JudgedNight, usual: number | null): string {
  const { show = percent } = rule
  const sentence = rule.say(show(rule.of(night) ?? 0))
  const beside = usual === null ? sentence : `${sentence}, usually ${show(usual)}`
  const known = rule.known?.(night) ?? ''
  return known === '' ? beside : `${beside} (${known})`
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

/** Minimum number of answers: a share based on fewer answers is not meaningful. */
const leastAnswers = 5

interface Rule {
  readonly name: string
  /** True if the ranks are shown even when this figure is unusual. */
  readonly harmless?: true
  /** Returns the run's figure, or null if the figure is unknown. */
  readonly of: (night: NightFigures) => number | null
  /** Returns true if the figure is unusual compared with a known usual value. */
  readonly differs: (value: number, usual: number, night: NightFigures) => boolean
  /** Returns true if the figure is wrong regardless of the usual value. If undefined, no figure is wrong. */
  readonly wrong?: (value: number, night: NightFigures) => boolean
  /** True for a deviation that makes a run's answers unusable and therefore never becomes normal. */
  readonly hopeless?: true
  /** Returns true if an unusual run resembles the previous run. By default, only the figures are compared. */
  readonly lasts?: (night: NightFigures) => boolean
  /** Scores an answer from 0 to 1, if a single answer can cause the deviation. */
  readonly each?: (scored: ScoredAnswer) => number | null
  /** Formats the figure. The default format is a percentage. */
  readonly show?: (value: number) => string
  /** Builds the sentence for a value formatted by `show`. */
  readonly say: (shown: string) => string
  /** Returns the known cause of a deviation, or an empty string if no cause is known. */
  readonly known?: (night: JudgedNight) => string
}

const rules: readonly Rule[] = [
  {
    name: 'answered',
    of: ({ answered, unreadable, asked }) => (asked === 0 ? null : (answered + unreadable) / asked),
    differs: (value, usual, { asked }) => usual - value > beyondChance(usual, asked),
    wrong: (value) => value < 0.5,
    say: (shown) => `${shown} of the queries were answered`,
  },
  shareOfAnswers({
    name: 'empty',
    part: ({ empty }) => empty,
    whole: ({ answered }) => answered,
    say: (shown) => `${shown} of the answers have no results`,
  }),
  {
    ...shareOfAnswers({
      name: 'unreadable',
      part: ({ unreadable }) => unreadable,
      whole: ({ answered, unreadable }) => answered + unreadable,
      say: (shown) => `${shown} of the answers cannot be read`,
    }),
    known: flawText,
  },
  {
    name: 'depth',
    of: ({ depth }) => depth,
    differs: (value, usual, { answered, empty }) =>
      answered - empty >= leastAnswers && value < usual * 0.6,
    show: rounded,
    say: (shown) => `answers are ${shown} results deep`,
  },
  {
    name: 'turnover',
    of: ({ turnover = null }) => turnover,
    differs: (value, usual, { compared = 0 }) =>
      compared >= leastAnswers &&
      value - usual > Math.max(0.15, 0.5 / Math.sqrt(compared), 2 * usual),
    wrong: (value, { compared = 0 }) => value > 0.7 && compared >= leastAnswers,
    lasts: ({ turnover, turnover_newest: newest }) => (newest ?? 1) < (turnover ?? 0) / 2,
    each: ({ turnover }) => turnover,
    say: (shown) => `the top 10 results changed by ${shown}`,
  },
  {
    name: 'sameness',
    of: ({ sameness = null }) => sameness,
    differs: (value, usual) => value - usual > 0.25,
    wrong: (value) => value > 0.9,
    hopeless: true,
    each: ({ sameness }) => sameness,
    say: (shown) => `a page in the top 10 also appears for ${shown} of the other queries`,
  },
  {
    name: 'repeats',
    of: ({ repeats = null }) => repeats,
    differs: (value, usual) => value - usual > 0.2,
    wrong: (value) => value > 0.5,
    hopeless: true,
    each: ({ repeats }) => repeats,
    say: (shown) => `${shown} of the top 10 results are repeated pages`,
  },
  {
    name: 'country',
    of: ({ foreign_share: share = null }) => share,
    differs: (value, usual) => value - usual > 0.3,
    wrong: (value) => value > 0.9,
    each: ({ foreign_share: share }) => share,
    say: (shown) => `${shown} of the top 10 results are on domains from another country`,
  },
  {
    name: 'stale',
    of: ({ stale = null }) => stale,
    differs: (value, usual) => value - usual > 0.4,
    wrong: (value) => value > 0.6,
    say: (shown) => `${shown} of the changed answers are copies of answers from an earlier day`,
  },
  {
    name: 'other_results',
    of: ({ doubted = null }) => doubted,
    differs: (value) => value > 0.5,
    wrong: (value) => value > 0.5,
    hopeless: true,
    say: (shown) => `${shown} of the answers show the results of another query`,
  },
  {
    name: 'price',
    harmless: true,
    of: ({ price }) => price,
    differs: (value, usual, { answered }) =>
      answered >= leastAnswers && usual > 0 && value > usual * 2,
    show: rounded,
    say: (shown) => `an answer cost ${shown} credits`,
  },
  {
    name: 'duration',
    harmless: true,
    of: ({ minutes, paused_minutes: paused }) => (minutes - paused) / 60,
    differs: (value, usual) => value > usual * 5 && value - usual > 1,
    show: rounded,
    say: (shown) => `it took ${shown} hours`,
  },
]

/** Builds a rule for a kind of answer that should be rare. */
function shareOfAnswers({
  name,
  part,
  whole,
  say,
}: Pick<Rule, 'name' | 'say'> & {
  readonly part: (night: NightFigures) => number
  readonly whole: (night: NightFigures) => number
}): Rule {
  return {
    name,
    of: (night) => (whole(night) === 0 ? null : part(night) / whole(night)),
    differs: (value, usual, night) =>
      value - usual > beyondChance(usual, whole(night)) && whole(night) * (value - usual) >= 2,
    wrong: (value, night) => value > 0.9 && whole(night) >= leastAnswers,
    hopeless: true,
    say,
  }
}

/** Maximum deviation of a share: four times the deviation expected by chance, but at least a fifth. */
function beyondChance(usual: number, many: number): number {
  return Math.max(0.2, 4 * Math.sqrt(Math.max(usual * (1 - usual), 0.01) / many))
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value))
}
