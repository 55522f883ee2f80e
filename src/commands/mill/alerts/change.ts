import { unhandled } from '../../../shared/errors.ts'
import type { AlertRule } from '../../../store/nights/alert-rules.ts'

/** Which way a domain moved. */
export type Direction = 'up' | 'down'

/** What a rule looks for, without whom it is for. */
export type WatchedFor = Pick<AlertRule, 'what' | 'threshold' | 'direction' | 'confirm'>

/** What one answer shows of a subject, or one day of its share. What is of no concern to the rule is null. */
export interface Sight {
  /** Best place of the domain; null: not in the answer. */
  readonly position: number | null
  /** Greatest place that the answer shows, 0 for an empty one; for a day the mean. */
  readonly depth: number
  /** Best place of the rival. */
  readonly rival: number | null
  /** Whether the feature is there, or whether a wrong page ranks; null: the answer cannot tell. */
  readonly flag: boolean | null
  readonly share: number | null
  /** Queries behind the share. */
  readonly queries: number
}

/** An alert that stands: the answer before the change, and the one that confirmed it. */
export interface StandingAlert {
  readonly base: Sight
  readonly raised: Sight
  readonly way: Direction | null
}

export type AlertStep =
  | { readonly kind: 'none' }
  /** `base` is the place of the answer before the change in the series. */
  | { readonly kind: 'raise'; readonly base: number; readonly way: Direction | null }
  | { readonly kind: 'recover' }

interface Sights {
  readonly base: Sight
  readonly now: Sight
  /** The answer that shows the change: what another one would have to be as deep as, to deny it. */
  readonly mark: Sight
}

/**
 * What becomes of a subject after its newest answer, the last of the series. An alert is raised when as many answers
 * running as the rule wants show a change against the one before them, and has recovered with the first that shows it
 * no more. An answer that cannot tell is passed over in all of this.
 */
export function decideAlert(
  rule: WatchedFor,
  series: readonly Sight[],
  standing: StandingAlert | null,
): AlertStep {
  const now = series.at(-1)
  if (now === undefined) return { kind: 'none' }
  if (standing !== null) {
    const { base, raised: mark, way } = standing
    const gone = shows({ ...rule, direction: way }, { base, now, mark }) === false
    return { kind: gone ? 'recover' : 'none' }
  }
  for (const way of waysOf(rule)) {
    const base = findBase({ ...rule, direction: way }, series)
    if (base !== null) return { kind: 'raise', base, way }
  }
  return { kind: 'none' }
}

function waysOf({ what, direction }: WatchedFor): readonly (Direction | null)[] {
  if (what !== 'moved' && what !== 'crossed') return [null]
  return direction === null ? ['down', 'up'] : [direction]
}

/** The answer before a change that exactly as many answers confirm as are wanted, the last one just now. */
function findBase(rule: WatchedFor, series: readonly Sight[]): number | null {
  const mark = series.at(-1)
  if (mark === undefined) return null
  for (let at = series.length - 2; at >= 0; at -= 1) {
    const base = series[at]
    if (base === undefined) continue
    const seen = series.slice(at + 1).map((now) => shows(rule, { base, now, mark }))
    const yes = seen.filter((one) => one === true).length
    // More of them were told before, or were there before the rule was.
    if (seen.at(-1) === true && yes === rule.confirm && !seen.includes(false)) return at
  }
  return null
}

/** Whether an answer shows the change that a rule looks for against an earlier one; null: it cannot tell. */
function shows({ what, threshold, direction }: WatchedFor, sights: Sights): boolean | null {
  const { base, now } = sights
  switch (what) {
    case 'entered':
      return entered(sights)
    case 'left':
      if (base.position === null) return null
      return now.position === null ? reaches(now, base) || null : false
    case 'moved':
      return direction === 'up' ? rose(threshold ?? 1, sights) : fell(threshold ?? 1, sights)
    case 'crossed':
      return direction === 'up' ? cameIn(threshold ?? 1, sights) : wentOut(threshold ?? 1, sights)
    case 'rival_passed':
      return isBehind(base) === false ? isBehind(now) : null
    case 'new_feature':
    case 'wrong_page':
      return base.flag === false ? now.flag : null
    case 'share_fell':
      return shrank(threshold ?? 1, sights)
    default:
      throw unhandled('kind of alert', what)
  }
}

/** An answer is deep enough to show the place that a domain has in another one. */
function reaches({ depth }: Sight, { position }: Sight): boolean {
  return position !== null && depth >= position
}

function entered({ base, now, mark }: Sights): boolean | null {
  if (base.position !== null) return null
  if (now.position !== null) return reaches(base, now) || null
  return reaches(now, mark) ? false : null
}

/** A domain that is not shown stands below the last place shown: so far at least it has come or gone. */
function fell(places: number, { base, now }: Sights): boolean | null {
  if (base.position !== null && now.position !== null) return now.position - base.position >= places
  if (base.position !== null) return now.depth + 1 - base.position >= places || null
  return now.position !== null && reaches(base, now) ? false : null
}

function rose(places: number, { base, now, mark }: Sights): boolean | null {
  if (base.position !== null && now.position !== null) return base.position - now.position >= places
  if (now.position !== null) return base.depth + 1 - now.position >= places || null
  return reaches(now, base.position === null ? mark : base) ? false : null
}

function wentOut(top: number, { base, now }: Sights): boolean | null {
  if (base.position === null || base.position > top) return null
  return now.position === null ? reaches(now, base) || null : now.position > top
}

function cameIn(top: number, { base, now, mark }: Sights): boolean | null {
  if (base.position !== null && base.position <= top) return null
  if (now.position === null) return reaches(now, mark) ? false : null
  if (now.position > top) return false
  return base.position !== null || reaches(base, now) || null
}

/** Whether the domain stands behind its rival; null: neither is there. */
function isBehind({ position, rival }: Sight): boolean | null {
  if (position === null) return rival === null ? null : true
  return rival !== null && rival < position
}

// Shares of days on which much else was asked, or less deeply, say nothing about each other.
const leastQueries = 0.8
const leastDepth = 0.6

function shrank(percent: number, { base, now }: Sights): boolean | null {
  if (base.share === null || base.share <= 0 || now.share === null) return null
  if (now.queries < base.queries * leastQueries || now.depth < base.depth * leastDepth) return null
  return now.share <= base.share * (1 - percent / 100) + Number.EPSILON
}
