import type { Json, JsonObject } from '../store/answer.ts'

/** Columns of a result in the spelling of the interface. */
export interface ResultColumns {
  readonly position: number | null
  readonly title: string | null
  readonly url: string | null
  readonly snippet: string | null
  readonly domain: string | null
}

/** Columns of an answer, apart from its lists. */
export interface AnswerColumns {
  readonly intent: string | null
  readonly sentiment: string | null
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
}

const listNames = ['clusters', 'entities', 'organic_results', 'related_searches'] as const
export type ListName = (typeof listNames)[number]

const resultNames: ReadonlySet<string> = new Set(['position', 'title', 'url', 'snippet', 'domain'])
const answerNames: ReadonlySet<string> = new Set([
  ...['success', 'query', 'intent', 'sentiment', 'credits_used', 'credits_remaining'],
  ...listNames,
])

/** What the columns of a result say, as the interface would say it: a null column is an absent field. */
export function renderResult({ position, title, url, snippet, domain }: ResultColumns): JsonObject {
  return present({ position, title, url, snippet, domain })
}

/** What the columns of an answer say. Its query is the one that was sent, unless it says otherwise. */
export function renderAnswer(columns: AnswerColumns, q: string): JsonObject {
  return present({
    success: true,
    query: q,
    intent: columns.intent,
    sentiment: columns.sentiment,
    credits_used: columns.creditsUsed,
    credits_remaining: columns.creditsRemaining,
  })
}

/** Fields that the interface does not name; null when there is none. */
export function resultExtra(given: JsonObject): JsonObject | null {
  return unnamed(given, resultNames)
}

export function answerExtra(given: JsonObject): JsonObject | null {
  return unnamed(given, answerNames)
}

/** What the columns of a result cannot say exactly; null when they say all. */
export function resultLeftover(given: JsonObject, rendered: JsonObject): JsonObject | null {
  return leftover(given, rendered, resultNames)
}

/** The same of an answer; of the lists, `exact` names those that the rows hold exactly. */
export function answerLeftover(
  given: JsonObject,
  rendered: JsonObject,
  exact: ReadonlySet<ListName>,
): JsonObject | null {
  const lists = listNames.map(
    (name) => [name, exact.has(name) ? (given[name] ?? null) : []] as const,
  )
  return leftover(given, { ...rendered, ...Object.fromEntries(lists) }, answerNames)
}

/** The inverse: rendered columns, corrected by what they could not say, with all that they have no name for. */
export function overlay(
  rendered: JsonObject,
  asGiven: JsonObject | null,
  extra: JsonObject | null,
): JsonObject {
  const { missing, ...given } = asGiven ?? {}
  const absent = new Set(Array.isArray(missing) ? missing : [])
  const kept = Object.entries(rendered).filter(([name]) => !absent.has(name))
  return Object.fromEntries([...kept, ...Object.entries(given), ...Object.entries(extra ?? {})])
}

function present(fields: Readonly<Record<string, Json>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

function unnamed(given: JsonObject, names: ReadonlySet<string>): JsonObject | null {
  const entries = Object.entries(given).filter(([name]) => !names.has(name))
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

// `missing` is no field of the interface, so its place among named fields is free.
function leftover(
  given: JsonObject,
  rendered: JsonObject,
  names: ReadonlySet<string>,
): JsonObject | null {
  const missing: string[] = []
  const odd: Record<string, Json> = {}
  for (const name of names) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined) {
      if (rendered[name] !== undefined) missing.push(name)
    } else if (value !== rendered[name]) odd[name] = value
  }
  if (missing.length > 0) odd['missing'] = missing
  return Object.keys(odd).length === 0 ? null : odd
}
