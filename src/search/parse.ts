import type { Answer, Entity, Json, JsonObject, Placed, Result } from '../store/answer.ts'
import { clean } from './clean.ts'
import { clusterOf, domainOf, entityOf, pageOf, relatedOf } from './dictionary.ts'
import {
  answerExtra,
  answerLeftover,
  renderAnswer,
  renderResult,
  resultExtra,
  resultLeftover,
  type ListName,
} from './render.ts'
import { answerShape, entityShape, resultShape } from './shape.ts'

/** A body that was read: a JSON object, fit for Postgres. */
export interface Readable {
  readonly problem: null
  readonly fields: JsonObject
  readonly replaced: number
}

/** A body that cannot be an answer, and why. */
export interface Unreadable {
  readonly problem: string
}

/** Reads any bytes as a JSON object, or says why they are none. Never throws. */
export function readBody(body: Buffer, truncated: boolean): Readable | Unreadable {
  if (body.length === 0) return { problem: 'expected a JSON object, got an empty body' }
  const text = body.toString('utf8').replace(/^\ufeff/, '')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own message quotes the body, which may be anything.
    return {
      problem: truncated
        ? `expected a whole body, got the first ${body.length} bytes of one`
        : `expected JSON, got ${body.length} bytes of something else`,
    }
  }
  if (!isObject(parsed)) return { problem: `expected a JSON object, got ${nameOf(parsed)}` }
  const { value, replaced, problem } = clean(parsed, text.includes('\\u'))
  if (problem !== null || !isObject(value)) return { problem: problem ?? 'expected a JSON object' }
  return { problem: null, fields: value, replaced }
}

/** The answer of a body that could not be read: no rows, and the reason. */
export function unreadAnswer(problem: string): Answer {
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
  }
}

/** The one canonical answer: each thing in its column, and beside it whatever the columns cannot hold exactly. */
export function parseAnswer({ fields, replaced }: Readable, q: string): Answer {
  const read = answerShape.parse(fields)
  const columns = {
    intent: read.intent ?? null,
    sentiment: read.sentiment ?? null,
    creditsUsed: read.credits_used ?? null,
    creditsRemaining: read.credits_remaining ?? null,
  }
  const exact = new Set<ListName>()
  const list = <T>(name: ListName, readItem: (item: Json) => Item<T> | null) =>
    readList(fields, name, readItem, exact)
  const results = list('organic_results', readResult)
  const entities = list('entities', readEntity)
  const clusters = list('clusters', (item) => readText(item, clusterOf))
  const related = list('related_searches', (item) => readText(item, relatedOf))
  return {
    ...columns,
    depth: greatestPosition(results),
    replaced,
    parseError: null,
    extra: answerExtra(fields),
    asGiven: answerLeftover(fields, renderAnswer(columns, q), exact),
    results,
    entities,
    clusters,
    related,
  }
}

/** One thing of a list; `exact` when its row says all that was given. */
interface Item<T> {
  readonly value: T
  readonly exact: boolean
}

/** What can be read of a list, each thing at its own place; a list that holds anything else is kept as it came, too. */
function readList<T>(
  fields: JsonObject,
  name: ListName,
  readItem: (item: Json) => Item<T> | null,
  exact: Set<ListName>,
): Placed<T>[] {
  const given = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (!Array.isArray(given)) return []
  const placed: Placed<T>[] = []
  let all = true
  given.forEach((each: Json, index) => {
    const read = readItem(each)
    if (read !== null) placed.push({ ordinal: index + 1, item: read.value })
    all &&= read?.exact ?? false
  })
  if (all) exact.add(name)
  return placed
}

function readResult(given: Json): Item<Result> | null {
  if (!isObject(given)) return null
  const { position = null, title = null, url, snippet = null, domain } = resultShape.parse(given)
  const page = url === undefined ? null : pageOf(url)
  const named = domain === undefined ? (page?.domain ?? null) : domainOf(domain)
  const rendered = renderResult({
    position,
    title,
    url: page?.url ?? null,
    snippet,
    domain: named?.host ?? null,
  })
  const value = {
    position,
    title,
    snippet,
    page,
    domain: named,
    extra: resultExtra(given),
    asGiven: resultLeftover(given, rendered),
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

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
