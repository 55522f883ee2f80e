import type { RelatedQuery } from '../../store/planning/frontier.ts'
import { checkText } from '../../lists/values.ts'
import type { Query } from '../../shared/query.ts'
import type { TextFilter } from './filter.ts'
import { writtenLike } from './scripts.ts'
import { twinKey } from './words.ts'

/** What decides which related searches are taken. */
export interface TakingRules {
  readonly wanted: TextFilter
  /** Queries that are there already: nothing that resembles one of them is taken. */
  readonly there: Iterable<Query>
  /** How the list is written. */
  readonly scripts: ReadonlySet<string>
  /** What a query is expected to cost. */
  readonly price: (query: Query) => number
  /** Most credits that all of them together may be expected to cost. */
  readonly credits: number
}

/** Why related searches were not taken. */
export interface LeftOut {
  unwanted: number
  twins: number
  other_script: number
  unusable: number
}

/** What was taken, the most promising first. */
export interface Chosen {
  readonly queries: readonly RelatedQuery[]
  readonly leftOut: Readonly<LeftOut>
  /** How many of the candidates were looked at before there was enough. */
  readonly looked: number
  /** True: the next one would have cost more than there was left. */
  readonly short: boolean
}

/** Takes candidates in their order until the credits are spoken for. */
export async function choose(
  pages: AsyncIterable<readonly RelatedQuery[]>,
  choice: TakingRules,
): Promise<Chosen> {
  const leftOut: LeftOut = { unwanted: 0, twins: 0, other_script: 0, unusable: 0 }
  const known = new Set([...choice.there].map(likeness))
  const queries: RelatedQuery[] = []
  let looked = 0
  let credits = 0
  for await (const page of pages) {
    for (const candidate of page) {
      const price = choice.price(candidate)
      if (credits + price > choice.credits) return { queries, leftOut, looked, short: true }
      looked += 1
      const reason = reasonAgainst(candidate, choice, known)
      if (reason !== null) {
        leftOut[reason] += 1
        continue
      }
      known.add(likeness(candidate))
      credits += price
      queries.push(candidate)
    }
  }
  return { queries, leftOut, looked, short: false }
}

function reasonAgainst(
  candidate: RelatedQuery,
  { wanted, scripts }: TakingRules,
  known: ReadonlySet<string>,
): keyof LeftOut | null {
  const { q } = candidate
  const text = checkText(q, 'keep')
  if (!text.ok || text.value !== q) return 'unusable'
  if (!wanted(q)) return 'unwanted'
  if (!writtenLike(q, scripts)) return 'other_script'
  return known.has(likeness(candidate)) ? 'twins' : null
}

/** Equal for queries that would find nearly the same pages: with more results asked for as well. */
function likeness({ q, location, hl, gl, device }: Query): string {
  return JSON.stringify([twinKey(q), location, hl, gl, device])
}
