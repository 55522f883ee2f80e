import type { Interpretation, NamedEntity, OrganicResult, Search } from './schemas.ts'

/** What was found for a search: everything but its price. */
export interface FoundAnswer {
  readonly intent: string
  readonly sentiment: string
  readonly clusters: readonly string[]
  readonly entities: readonly NamedEntity[]
  readonly organic_results: readonly OrganicResult[]
  readonly related_searches: readonly string[]
  /** Where something else was searched for than what was sent. */
  readonly interpretation?: Interpretation
}

/** An answer, with what its headers say about it. */
export interface Answered {
  readonly answer: FoundAnswer
  /** Parameters that were sent and had no effect. */
  readonly ignored: readonly string[]
  /** True when some of the engines behind the answer failed. */
  readonly partial: boolean
}

/** Who asks, and until when. */
export interface Asker {
  /** Accounts take turns at the upstream. */
  readonly account: number
  /** Ends the search when it aborts. */
  readonly signal: AbortSignal
  /** Ends the search only while it waits for its turn: the client has gone away. */
  readonly gone: AbortSignal
  /** Time of `performance.now()` at which the answer must be there. */
  readonly deadline: number
}

/** The results of the page that was asked for. */
export function shownOf<Result>({ page, num }: Search, results: readonly Result[]): Result[] {
  return results.slice((page - 1) * num, page * num)
}

/** Where answers come from: invented, from the documents of this machine, or from the web. */
export interface Provider {
  readonly name: string
  answer(search: Search, asker: Asker): Promise<Answered>
  close(): Promise<void>
}

/** The names of the parameters among these that were sent. */
export function sentParams(
  search: Search,
  names: readonly ('location' | 'hl' | 'gl' | 'device' | 'safe' | 'freshness')[],
): string[] {
  return names.filter((name) => search[name] !== null)
}
