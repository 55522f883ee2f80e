import { unhandled } from '../../../shared/errors.ts'
import type { AlertRule } from '../../../store/nights/alert-rules.ts'
import type { KnownAlert } from '../../../store/nights/alerts.ts'
import type { AskedQuery, ShownAnswer, Place } from '../../../store/nights/sights.ts'
import type { Sight } from './change.ts'

/** What an alert of a query is about. */
export interface AlertSubject {
  readonly domain: string | null
  readonly rival: string | null
  readonly feature: string | null
}

/** Any domain, or any rival. */
export const anybody = '*'

/** The places in some answers. */
export type SeenPlaces = ReadonlyMap<number, ReadonlyMap<string, Place>>

export function placesBySearch(places: readonly Place[]): SeenPlaces {
  const found = new Map<number, Map<string, Place>>()
  for (const place of places) {
    const held = found.get(place.search_id) ?? new Map<string, Place>()
    found.set(place.search_id, held.set(place.domain, place))
  }
  return found
}

/** A rule is for the queries of its list and of its label. */
export function concerns({ list, tag }: AlertRule, { labels }: AskedQuery): boolean {
  if (list !== null && !labels.includes(`list=${list}`)) return false
  return tag === null || tag === anybody || labels.includes(tag)
}

/** Domains whose places rules want to know, beside those that queries want; null: all. */
export function domainsOf(
  rules: readonly AlertRule[],
  ours: readonly string[],
): readonly string[] | null {
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

/** Whom or what a rule watches in the answers to a query, those among them about whom it has spoken before. */
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
      const rivals = rule.rival === anybody ? seen(around) : [rule.rival]
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
      const domains = rule.domain === anybody ? seen(around) : domainsFor(rule, ours)
      return domains.map((domain) => ({ ...nothing, domain }))
    }
    default:
      throw unhandled('kind of alert', rule.what)
  }
}

/** The domain that a rule names; those that are ours where it names none. */
export function domainsFor({ domain }: AlertRule, ours: readonly string[]): readonly string[] {
  return domain === null ? ours : [domain]
}

function seen({ answers, places }: Around): readonly string[] {
  const domains = answers.flatMap(({ search_id: search }) => [
    ...(places.get(search)?.keys() ?? []),
  ])
  return [...new Set(domains)]
}

/** What an answer shows of a subject. */
export function sightOf(
  { query, places }: Pick<Around, 'query' | 'places'>,
  { domain, rival, feature }: AlertSubject,
  answer: ShownAnswer,
): Sight {
  const held = places.get(answer.search_id)
  const placeOf = (name: string | null) => (name === null ? undefined : held?.get(name))
  const place = placeOf(domain)
  return {
    position: place?.position ?? null,
    depth: answer.depth,
    rival: placeOf(rival)?.position ?? null,
    flag: feature === null ? isWrong(place, query) : hasFeature(feature, answer),
    share: null,
    queries: 0,
  }
}

function isWrong(place: Place | undefined, query: AskedQuery): boolean | null {
  if (place === undefined || query.target_page === null) return null
  return place.domain === query.target_domain ? place.page !== query.target_page : null
}

/** An answer without a result has nothing else either: it cannot tell. */
function hasFeature(feature: string, { depth, features }: ShownAnswer): boolean | null {
  return depth === 0 ? null : features.includes(feature)
}
