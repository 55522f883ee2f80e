import type { Answer, Entity, Json, JsonObject, Placed, Result } from '../store/answers/answer.ts'
import { featuresOf } from './features.ts'
import { isObject, readBody, type Readable } from './json.ts'
import { clusterOf, domainOf, entityOf, pageOf, relatedOf } from './dictionary.ts'
import {
  answerColumns,
  answerExtra,
  answerLeftover,
  resultExtra,
  resultLeftover,
  type ListName,
} from './render.ts'
import { answerShape, entityShape, resultShape, statementShape } from './shape.ts'

/** What a body says. Whether that makes it an answer or a refusal, the status decides, too. */
export interface Reading {
  /** What it says of its own success; null: nothing, or it cannot be read. */
  readonly success: boolean | null
  /** The query that it says it answers; null where it names none. */
  readonly query: string | null
  /** Taken as an answer; without rows, and with the problem in it, when it cannot be read. */
  readonly answer: Answer
  /** Taken as a refusal; null where nothing is said. */
  readonly refusal: { readonly code: string | null; readonly message: string | null }
}

const nothingSaid = { success: null, query: null, refusal: { code: null, message: null } } as const

/** Reads any bytes as the answer to `q`, or as a refusal, or says why they are neither. Never throws. */
export function readAnswer(body: Buffer, truncated: boolean, q: string): Reading {
  const read = readBody(body, truncated)
  if (read.problem !== null) return { ...nothingSaid, answer: unreadAnswer(read.problem) }
  const { success = null, query = null, error } = statementShape.parse(read.fields)
  const refusal = { code: error?.code ?? null, message: error?.message ?? null }
  return { success, query, answer: parseAnswer(read, q), refusal }
}

/** The same answer without its rows, and the reason; what it says about money stays, since it was paid for. */
export function dropRows({ creditsUsed, creditsRemaining }: Answer, reason: string): Answer {
  return { ...unreadAnswer(reason), creditsUsed, creditsRemaining }
}

/** The answer of a body that could not be read: no rows, and the reason. */
function unreadAnswer(problem: string): Answer {
  return {
    intent: null,
    sentiment: null,
    creditsUsed: null,
    creditsRemaining: null,
    depth: null,
    replaced: 0,
    parseError: problem,
    extra: null,
    asGiven: null,
    results: [],
    entities: [],
    clusters: [],
    related: [],
    features: [],
  }
}

/** The one canonical answer: each thing in its column, and beside it whatever the columns cannot hold exactly. */
function parseAnswer({ fields, replaced }: Readable, q: string): Answer {
  const read = answerShape.parse(fields)
  const columns = {
    intent: read.intent ?? null,
    sentiment: read.sentiment ?? null,
    credits_used: read.credits_used ?? null,
    credits_remaining: read.credits_remaining ?? null,
  }
  const results = readList(fields, 'organic_results', readResult)
  const entities = readList(fields, 'entities', readEntity)
  const clusters = readList(fields, 'clusters', (item) => readText(item, clusterOf))
  const related = readList(fields, 'related_searches', (item) => readText(item, relatedOf))
  const extra = answerExtra(fields)
  const said = {
    ...answerColumns(columns, q),
    organic_results: results.exact,
    entities: entities.exact,
    clusters: clusters.exact,
    related_searches: related.exact,
  }
  return {
    intent: columns.intent,
    sentiment: columns.sentiment,
    creditsUsed: columns.credits_used,
    creditsRemaining: columns.credits_remaining,
    depth: greatestPosition(results.placed),
    replaced,
    parseError: null,
    extra,
    asGiven: answerLeftover(fields, said),
    results: results.placed,
    entities: entities.placed,
    clusters: clusters.placed,
    related: related.placed,
    features: featuresOf(extra),
  }
}

/** One thing of a list; `exact` when its row says all that was given. */
interface Item<T> {
  readonly value: T
  readonly exact: boolean
}

interface List<T> {
  readonly placed: Placed<T>[]
  /** The list as given when its rows hold it exactly; otherwise an empty one, so that the given one is kept beside it. */
  readonly exact: readonly Json[]
}

/** What can be read of a list, each thing at its own place; a list that holds anything else is kept as it came, too. */
function readList<T>(
  fields: JsonObject,
  name: ListName,
  readItem: (item: Json) => Item<T> | null,
): List<T> {
  const given = Object.hasOwn(fields, name) ? fields[name] : undefined
  const placed: Placed<T>[] = []
  if (!Array.isArray(given)) return { placed, exact: [] }
  let exact = true
  let ordinal = 0
  for (const each of given as readonly Json[]) {
    ordinal += 1
    const read = readItem(each)
    if (read === null) exact = false
    else {
      placed.push({ ordinal, item: read.value })
      exact &&= read.exact
    }
  }
  return { placed, exact: exact ? given : [] }
}

function readResult(given: Json): Item<Result> | null {
  if (!isObject(given)) return null
  const { position = null, title = null, url, snippet = null, domain } = resultShape.parse(given)
  const page = url === undefined ? null : pageOf(url)
  const hosted = page?.domain ?? null
  const named = domain === undefined || domain === hosted?.host ? hosted : domainOf(domain)
  const columns = { position, title, url: page?.url ?? null, snippet, domain: named?.host ?? null }
  const value = {
    position,
    title,
    snippet,
    page,
    domain: named,
    extra: resultExtra(given),
    asGiven: resultLeftover(given, columns),
  }
  return { value, exact: true }
}

function readEntity(given: Json): Item<Entity> | null {
  const read = entityShape.safeParse(given)
  if (!read.success || !isObject(given)) return null
  const { name, type = null } = read.data
  const said = Object.keys(given).length
  return { value: entityOf(name, type), exact: said === (type === null ? 1 : 2) }
}

function readText<T>(given: Json, make: (text: string) => T): Item<T> | null {
  return typeof given === 'string' ? { value: make(given), exact: true } : null
}

function greatestPosition(results: readonly Placed<Result>[]): number | null {
  let greatest: number | null = null
  for (const { item } of results) {
    if (item.position !== null) greatest = Math.max(greatest ?? item.position, item.position)
  }
  return greatest
}
