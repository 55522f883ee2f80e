import type { Json, JsonObject } from '../store/answers/answer.ts'

/** RowColumns of a result in the spelling of the interface; null where the interface would say nothing. */
export interface ResultColumns {
  readonly position: number | null
  readonly title: string | null
  readonly url: string | null
  readonly snippet: string | null
  readonly domain: string | null
}

/** RowColumns of an answer, apart from its lists. */
export interface AnswerColumns {
  readonly intent: string | null
  readonly sentiment: string | null
  readonly credits_used: number | null
  readonly credits_remaining: number | null
}

export const listNames = ['clusters', 'entities', 'organic_results', 'related_searches'] as const
export type ListName = (typeof listNames)[number]

const resultNames: ReadonlySet<string> = new Set(['position', 'title', 'url', 'snippet', 'domain'])
const answerNames: ReadonlySet<string> = new Set([
  ...['success', 'query', 'intent', 'sentiment', 'credits_used', 'credits_remaining'],
  ...listNames,
])

/** What columns say, by the names of the interface. */
export type RowColumns = Readonly<Record<string, Json>>

/** What the columns of an answer say of it: it succeeded, and its query is the one that was sent. */
export function answerColumns(columns: AnswerColumns, q: string): RowColumns {
  const { intent, sentiment, credits_used, credits_remaining } = columns
  return { success: true, query: q, intent, sentiment, credits_used, credits_remaining }
}

/** Fields of a result that the interface does not name; null when there is none. */
export function resultExtra(given: JsonObject): JsonObject | null {
  return unnamed(given, resultNames)
}

/** Fields of an answer that the interface does not name. */
export function answerExtra(given: JsonObject): JsonObject | null {
  return unnamed(given, answerNames)
}

/** What the columns of a result cannot say exactly; null when they say all. */
export function resultLeftover(given: JsonObject, columns: ResultColumns): JsonObject | null {
  return leftover(given, { ...columns }, resultNames)
}

/** The same of an answer, whose lists stand in `columns` as far as their rows hold them exactly. */
export function answerLeftover(given: JsonObject, columns: RowColumns): JsonObject | null {
  return leftover(given, columns, answerNames)
}

function unnamed(given: JsonObject, names: ReadonlySet<string>): JsonObject | null {
  // Nearly always there is none: look before anything is built.
  let all = true
  for (const name of Object.keys(given)) all &&= names.has(name)
  if (all) return null
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name)))
}

// `missing` is no field of the interface, so its place among named fields is free.
function leftover(
  given: JsonObject,
  columns: RowColumns,
  names: ReadonlySet<string>,
): JsonObject | null {
  let missing: string[] | null = null
  let odd: Record<string, Json> | null = null
  for (const name of names) {
    const column = columns[name] ?? null
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined) {
      if (column !== null) (missing ??= []).push(name)
    } else if (value === null || value !== column) (odd ??= {})[name] = value
  }
  return missing === null ? odd : { ...odd, missing }
}
