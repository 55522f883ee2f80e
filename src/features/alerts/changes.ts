// Decides which changes raise or end an alert, describes each change, and reads the answers that show the change.

import { npmRun } from '../../base/cli/commands.ts'
import { typed } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { conditionOf } from '../../base/database/views.ts'
import { unhandled } from '../../base/errors.ts'
import { groupBy } from '../../base/query.ts'
import { dayNumber } from '../../base/time/zone.ts'
import type { AlertRule, KnownAlert, NewAlert, UncheckedRun } from './statements.ts'

type Direction = 'up' | 'down'

export type WatchedFor = Pick<AlertRule, 'what' | 'threshold' | 'direction' | 'confirm'>

/** Values for a rule to compare, from one answer or one day's share. Values that the rule does not use are null. */
export interface Measurement {
  /** The domain's best position; null if the domain is not in the answer. */
  readonly position: number | null
  /** Last position in the answer (0 for an empty answer), or the mean depth of a day's answers. */
  readonly depth: number
  readonly rival: number | null
  /** True if the answer has the SERP feature or shows a wrong page; null if unknown. */
  readonly flag: boolean | null
  readonly share: number | null
  readonly queries: number
}

/** An open alert, with the answers before and after the change. */
export interface StandingAlert {
  readonly base: Measurement
  readonly raised: Measurement
  readonly way: Direction | null
}

interface Measurements {
  readonly base: Measurement
  readonly now: Measurement
  /** Answer that shows the change. Only an answer deep enough to show the same position can refute the change. */
  readonly mark: Measurement
}

/**
 * Decides whether the newest (last) answer in the series raises or ends a subject's alert. The alert is raised
 * when enough consecutive answers show a change, and ends at the first answer that no longer shows the change. The
 * answer before the change is `series[base]`.
 */
export function decideAlert(
  rule: WatchedFor,
  series: readonly Measurement[],
  standing: StandingAlert | null,
) {
  const now = series.at(-1)
  const none = { kind: 'none' } as const
  if (now === undefined) return none
  if (standing !== null) {
    const { base, raised: mark, way } = standing
    const gone = shows({ ...rule, direction: way }, { base, now, mark }) === false
    return gone ? ({ kind: 'recover' } as const) : none
  }
  for (const way of waysOf(rule)) {
    const base = findBase({ ...rule, direction: way }, series)
    if (base !== null) return { kind: 'raise', base, way } as const
  }
  return none
}

function waysOf({ what, direction }: WatchedFor): readonly (Direction | null)[] {
  if (what !== 'moved' && what !== 'crossed') return [null]
  return direction === null ? ['down', 'up'] : [direction]
}

/** Finds the answer before a change, if exactly the required number of later answers show the change. */
function findBase(rule: WatchedFor, series: readonly Measurement[]): number | null {
  const mark = series.at(-1)
  if (mark === undefined) return null
  for (let at = series.length - 2; at >= 0; at -= 1) {
    const base = series[at]
    if (base === undefined) continue
    const seen = series.slice(at + 1).map((now) => shows(rule, { base, now, mark }))
    const yes = seen.filter((one) => one === true).length
    // If more answers show the change, the change was already reported or is older than the rule.
    if (seen.at(-1) === true && yes === rule.confirm && !seen.includes(false)) return at
  }
  return null
}

/** True if the rule's change occurred between the two answers; null if unknown. */
function shows({ what, threshold, direction }: WatchedFor, measurements: Measurements) {
  const { base, now } = measurements
  switch (what) {
    case 'entered':
      return entered(measurements)
    case 'left':
      if (base.position === null) return null
      return now.position === null ? reaches(now, base) || null : false
    case 'moved':
      // Swapping the two answers turns a fall into a rise.
      return rose(
        threshold ?? 1,
        direction === 'up' ? measurements : { ...measurements, base: now, now: base },
      )
    case 'crossed':
      return (direction === 'up' ? cameIn : wentOut)(threshold ?? 1, measurements)
    case 'rival_passed':
      return isBehind(base) === false ? isBehind(now) : null
    case 'new_feature':
    case 'wrong_page':
      return base.flag === false ? now.flag : null
    case 'share_fell':
      return shrank(threshold ?? 1, measurements)
    default:
      throw unhandled('kind of alert', what)
  }
}

/** True if the first answer is deep enough to show the domain's position in the second. */
function reaches({ depth }: Measurement, { position }: Measurement): boolean {
  return position !== null && depth >= position
}

function entered({ base, now, mark }: Measurements): boolean | null {
  if (base.position !== null) return null
  if (now.position !== null) return reaches(base, now) || null
  return reaches(now, mark) ? false : null
}

/** True if a domain rose by at least `places` positions; null if unknown. A missing domain ranks below all others. */
function rose(places: number, { base, now, mark }: Measurements): boolean | null {
  if (base.position !== null && now.position !== null) return base.position - now.position >= places
  if (now.position !== null) return base.depth + 1 - now.position >= places || null
  return reaches(now, base.position === null ? mark : base) ? false : null
}

function wentOut(top: number, { base, now }: Measurements): boolean | null {
  if (base.position === null || base.position > top) return null
  return now.position === null ? reaches(now, base) || null : now.position > top
}

function cameIn(top: number, { base, now, mark }: Measurements): boolean | null {
  if (base.position !== null && base.position <= top) return null
  if (now.position === null) return reaches(now, mark) ? false : null
  if (now.position > top) return false
  return base.position !== null || reaches(base, now) || null
}

/** True if the domain ranks behind its rival; null if neither is present. */
function isBehind({ position, rival }: Measurement): boolean | null {
  if (position === null) return rival === null ? null : true
  return rival !== null && rival < position
}

// Minimum queries and depth of a comparable day, as fractions of the earlier day's values.
const leastQueries = 0.8
const leastDepth = 0.6

function shrank(percent: number, { base, now }: Measurements): boolean | null {
  if (base.share === null || base.share <= 0 || now.share === null) return null
  if (now.queries < base.queries * leastQueries || now.depth < base.depth * leastDepth) return null
  return now.share <= base.share * (1 - percent / 100) + Number.EPSILON
}

/** A change for which the domain that took or lost the position has not been looked up yet. */
export interface FoundChange {
  readonly rule: AlertRule
  readonly query: AskedQuery
  readonly key: string
  readonly subject: AlertSubject
  readonly way: Direction | null
  readonly base: RankAnswer
  readonly now: RankAnswer
  readonly measurements: { readonly base: Measurement; readonly now: Measurement }
}

/** Looks up the domain that took or lost each position, and describes each change in a sentence. */
export async function putIntoWords(
  trx: Database,
  { run, places }: { readonly run: UncheckedRun; readonly places: SeenPlaces },
  found: readonly FoundChange[],
): Promise<readonly NewAlert[]> {
  const sought = found.map(soughtPlace).filter((place) => place !== null)
  // Positions without a domain are omitted.
  const holders = await readRows<Omit<Place, 'page'>>(trx, 'read_holders', {
    searches: sought.map((place) => place.search_id),
    positions: sought.map(({ position }) => position),
  })
  return found.map((one) => {
    const { rule, query, key, subject, way, base, now, measurements } = one
    const place = soughtPlace(one)
    const holder = holders.find(
      (held) => held.search_id === place?.search_id && held.position === place.position,
    )
    const other =
      subject.rival ?? (holder?.domain === subject.domain ? null : holder?.domain) ?? null
    const page = places.get(now.search_id)?.get(subject.domain ?? '')?.page ?? null
    const said = `${marked(now.origin)}${changeOf(one, other, page)}, on ${now.run_date} compared with ${base.run_date}`
    return {
      ...{ rule: rule.name, what: rule.what, subject: key, list: run.list, tag: rule.tag },
      ...{ query_id: query.query_id, domain: subject.domain, other_domain: other },
      ...{ feature: subject.feature, direction: way, origin: now.origin },
      ...{ base_run_id: base.run_id, base_run_date: base.run_date, base_search_id: base.search_id },
      ...{ run_id: now.run_id, run_date: now.run_date, search_id: now.search_id },
      ...{ previous_position: measurements.base.position, position: measurements.now.position },
      ...{ said, question: alertQuestion(one) },
    }
  })
}

/** Position to look up, in the newer answer for a loss and in the older answer for a gain. */
function soughtPlace({ rule, way, base, now, measurements }: FoundChange) {
  const gain = rule.what === 'entered' || way === 'up'
  const answer = gain ? base : now
  const position = gain ? measurements.now.position : measurements.base.position
  const moves = ['entered', 'left', 'moved', 'crossed'].includes(rule.what)
  return moves && position !== null ? { search_id: answer.search_id, position } : null
}

interface AlertSubject {
  readonly domain: string | null
  readonly rival: string | null
  readonly feature: string | null
}

export const anybody = '*'

type SeenPlaces = Awaited<ReturnType<typeof readPlaces>>

export function concerns({ list, tag }: AlertRule, { labels }: AskedQuery): boolean {
  if (list !== null && !labels.includes(`list=${list}`)) return false
  return tag === null || tag === anybody || labels.includes(tag)
}

/** Domains whose positions the rules need, or null for all domains. The caller adds target and alert domains. */
export function domainsOf(rules: readonly AlertRule[], ours: readonly string[]) {
  const named = rules.flatMap(({ domain, rival }) => [domain, rival])
  if (named.includes(anybody)) return null
  return [...new Set([...ours, ...named.filter((name) => name !== null)])]
}

interface Around {
  readonly query: AskedQuery
  readonly ours: readonly string[]
  readonly answers: readonly ShownAnswer[]
  readonly places: SeenPlaces
}

/** Returns the subjects that a rule watches in a query's answers or has already reported. */
export function subjectsOf(
  rule: AlertRule,
  around: Around,
  known: readonly KnownAlert[],
): ReadonlyMap<string, AlertSubject> {
  const spoken = known
    .filter((one) => one.rule === rule.name && one.query_id === around.query.query_id)
    .map(({ domain, other_domain: other, feature }) => ({
      domain,
      rival: rule.what === 'rival_passed' ? other : null,
      feature,
    }))
  const subjects = [...watched(rule, around), ...spoken]
  return new Map(subjects.map((subject) => [subjectKey(around.query.query_id, subject), subject]))
}

function subjectKey(query: string, { domain, rival, feature }: AlertSubject): string {
  return [query, domain ?? '', rival ?? '', feature ?? ''].join(' ')
}

function watched(rule: AlertRule, around: Around): readonly AlertSubject[] {
  const { query, ours, answers } = around
  const nothing: AlertSubject = { domain: null, rival: null, feature: null }
  switch (rule.what) {
    case 'new_feature': {
      const features = answers.flatMap((answer) => answer.features)
      const wanted = rule.feature === null ? features : [rule.feature]
      return [...new Set(wanted)].map((feature) => ({ ...nothing, feature }))
    }
    case 'wrong_page': {
      const { target_domain: domain } = query
      const meant = rule.domain === null || rule.domain === domain
      return domain === null || !meant ? [] : [{ ...nothing, domain }]
    }
    case 'rival_passed': {
      const rivals = rule.rival === anybody ? seenAround(around) : [rule.rival]
      return domainsFor(rule, ours).flatMap((domain) =>
        rivals.filter((rival) => rival !== domain).map((rival) => ({ ...nothing, domain, rival })),
      )
    }
    case 'share_fell':
      return []
    case 'entered':
    case 'left':
    case 'moved':
    case 'crossed': {
      const domains = rule.domain === anybody ? seenAround(around) : domainsFor(rule, ours)
      return domains.map((domain) => ({ ...nothing, domain }))
    }
    default:
      throw unhandled('kind of alert', rule.what)
  }
}

export function domainsFor({ domain }: AlertRule, ours: readonly string[]): readonly string[] {
  return domain === null ? ours : [domain]
}

function seenAround({ answers, places }: Around): readonly string[] {
  return [
    ...new Set(answers.flatMap((answer) => [...(places.get(answer.search_id)?.keys() ?? [])])),
  ]
}

export function measure(
  { query, places }: Pick<Around, 'query' | 'places'>,
  { domain, rival, feature }: AlertSubject,
  answer: ShownAnswer,
): Measurement {
  const { depth, features } = answer
  const held = places.get(answer.search_id)
  const placeOf = (name: string | null) => (name === null ? undefined : held?.get(name))
  const place = placeOf(domain)
  return {
    position: place?.position ?? null,
    depth,
    rival: placeOf(rival)?.position ?? null,
    // An answer without results never contains a SERP feature, so a missing feature proves nothing.
    flag:
      feature === null ? isWrong(place, query) : depth === 0 ? null : features.includes(feature),
    share: null,
    queries: 0,
  }
}

function isWrong(place: Place | undefined, query: AskedQuery): boolean | null {
  if (place === undefined || query.target_page === null) return null
  return place.domain === query.target_domain ? place.page !== query.target_page : null
}

function marked(origin: string): string {
  return origin === 'live' ? '' : `(${origin}) `
}

/** Describes a change. `other` is the domain that took or lost the position. `page` is the page that now ranks. */
function changeOf(
  { rule, subject, way, query, measurements: { base, now } }: FoundChange,
  other: string | null,
  page: string | null,
): string {
  const { q, variant } = query
  const where = `for ${JSON.stringify(q)}${variant === '' ? '' : ` (${variant})`}`
  const { domain, rival, feature } = subject
  const [before, after] = [placeWords(base, now), placeWords(now, base)]
  switch (rule.what) {
    case 'entered':
      return `${domain} entered the results ${where} at ${after}${tookBy('up', other)}`
    case 'left':
      return `${domain} dropped out of the results ${where} (was ${before}${other === null ? '' : `; ${other} took its position`})`
    case 'moved':
      return `${domain} ${way === 'up' ? 'rose' : 'fell'} ${where} from ${before} to ${after}${tookBy(way, other)}`
    case 'crossed':
      return `${domain} ${way === 'up' ? 'entered' : 'dropped out of'} the top ${rule.threshold} ${where}, from ${before} to ${after}${tookBy(way, other)}`
    case 'rival_passed':
      return `${rival} passed ${domain} ${where}: now ${rivalWords(now)}, previously ${rivalWords(base)}`
    case 'new_feature':
      return `the answer ${where} shows ${feature}, which the previous answer did not show`
    case 'wrong_page':
      return `${domain} ranks ${where} at ${after} with ${page} instead of ${query.target_page}`
    case 'share_fell':
      throw new Error('expected a query alert, got a share alert')
    default:
      throw unhandled('kind of alert', rule.what)
  }
}

/** Describes a position; for a missing domain, `below` the depth or the other position, whichever is greater. */
function placeWords({ position, depth }: Measurement, other: Measurement): string {
  return position === null ? `below ${Math.max(depth, other.position ?? 0)}` : String(position)
}

function rivalWords({ rival, position, depth }: Measurement): string {
  const shown = (place: number | null) => (place === null ? `below ${depth}` : String(place))
  return `${shown(rival)} vs. ${shown(position)}`
}

/** Names the new holder of a lost position, or the previous holder of a gained position. */
function tookBy(way: Direction | null, other: string | null): string {
  if (other === null) return ''
  return way === 'up' ? ` (previously the position of ${other})` : ` (${other} took its position)`
}

function alertQuestion({ rule, query, base, now }: FoundChange): string {
  const { origin, run_date: date } = now
  if (rule.what === 'wrong_page')
    return questionLine(origin, ['pages', '--show', 'wrong', '--day', date])
  if (rule.what === 'new_feature') {
    return questionLine(origin, ['keyword', '--show', 'parts', '--q', query.q])
  }
  const days = dayNumber(date) - dayNumber(base.run_date)
  const between = ['--day', date, '--days', String(days)]
  return questionLine(origin, ['keyword', '--q', query.q, ...between])
}

/** Describes a drop in a domain's share. `other_domain` is the domain that gained the most. */
export function describeShare(
  alert: Record<'domain' | 'tag' | 'origin' | 'base_run_date' | 'run_date', string> &
    Record<'previous_share' | 'share', number> & { readonly other_domain: string | null },
) {
  const { domain, tag, origin, previous_share: before, share: now, other_domain: other } = alert
  const of = tag === anybody ? 'across all queries' : `for ${tag}`
  const fall = Math.round((1 - now / before) * 100)
  const who = other === null ? '' : ` (${other} gained most)`
  const narrowed = tag === anybody ? [] : ['--tag', conditionOf(tag)]
  const inPercent = (share: number) => `${(share * 100).toFixed(2)} %`
  return {
    said: `${marked(origin)}the share of voice of ${domain} ${of} fell by ${fall} %, from ${inPercent(before)} to ${inPercent(now)}${who}, on ${alert.run_date} compared with ${alert.base_run_date}`,
    question: questionLine(origin, ['shares', '--over', 'day', '--domain', domain, ...narrowed]),
  }
}

function questionLine(origin: string, words: readonly string[]): string {
  const flags = origin === 'live' ? [] : ['--origins', origin]
  return [npmRun('sql --'), ...flags, ...words.map(typed)].join(' ')
}

export interface AskedQuery {
  readonly query_id: string
  readonly q: string
  /** The query's parameters other than its text. */
  readonly variant: string
  /** The query's tags on that day, including `list=`, `device=` and similar tags. */
  readonly labels: readonly string[]
  /** The query's target page in the run's list, and the page's domain. */
  readonly target_page: string | null
  readonly target_domain: string | null
}

/** An answer that can be used as evidence, because its run was judged and is not suspect. */
export interface RankAnswer {
  readonly query_id: string
  readonly search_id: number
  readonly run_id: number
  readonly run_date: string
  readonly depth: number
  readonly origin: string
  readonly api: string
  readonly features: readonly string[]
}

/** An answer read by its id. The answer's run may have become suspect in the meantime. */
export type ShownAnswer = Pick<RankAnswer, 'search_id' | 'depth' | 'features'>

export interface Place {
  readonly search_id: number
  readonly domain: string
  readonly position: number
  readonly page: string | null
}

/** Reads the best positions of the given domains in the given answers, by answer and domain. Null means all domains. */
export async function readPlaces(
  trx: Database,
  searches: readonly number[],
  domains: readonly string[] | null,
) {
  const rows = await readRows<Place>(trx, 'read_best_places', { searches, domains })
  const places = [...groupBy(rows, (place) => place.search_id)]
  return new Map(
    places.map(([search, held]) => [search, new Map(held.map((place) => [place.domain, place]))]),
  )
}
