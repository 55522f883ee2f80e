// Parses a body into results, entities, clusters, related searches and features.

import { domainToASCII } from 'node:url'
import { getDomain } from 'tldts'
import { z } from 'zod'
import { asciiHost, parseUrl } from '../../base/address.ts'
import type {
  Answer,
  Domain,
  Entity,
  Feature,
  Json,
  JsonObject,
  Page,
  Placed,
  Result,
  Term,
} from '../../base/answer.ts'
import { idBytes, pageIdBytes } from '../../base/query.ts'
import { isObject, type Readable, readBody } from './json.ts'

/** A body's content. Whether the body is an answer or a rejection also depends on the reply's status. */
export interface Reading {
  readonly success: boolean | null
  readonly query: string | null
  /** The answer. If the body cannot be read, the answer has a reason and no rows. */
  readonly answer: Answer
  readonly refusal: { readonly code: string | null; readonly message: string | null }
}

const emptyReading = { success: null, query: null, refusal: { code: null, message: null } } as const

/** Parses a body as an answer to `q` or as a rejection; otherwise, returns the problem. Never throws. */
export function readAnswer(body: Buffer, truncated: boolean, q: string): Reading {
  const read = readBody(body, truncated)
  if (read.problem !== null) return { ...emptyReading, answer: unreadAnswer(read.problem) }
  const { success, query, error } = statementShape.parse(read.fields)
  return { success, query, answer: parseAnswer(read, q), refusal: error ?? emptyReading.refusal }
}

/** Removes an answer's rows for the given reason. The credits are kept, because the API charged for the answer. */
export function dropRows({ creditsUsed, creditsRemaining }: Answer, reason: string): Answer {
  return { ...unreadAnswer(reason), creditsUsed, creditsRemaining }
}

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

/** Builds the answer. Values that columns cannot hold exactly are also kept in their original form. */
function parseAnswer({ fields, replaced }: Readable, q: string): Answer {
  const columns = answerShape.parse(fields)
  const results = readList(fields, 'organic_results', readResult)
  const entities = readList(fields, 'entities', readEntity)
  const clusters = readList(fields, 'clusters', (item) => readText(item, clusterOf))
  const related = readList(fields, 'related_searches', (item) => readText(item, relatedOf))
  const extra = unnamed(fields, answerNames)
  // Fields that the columns already represent: `success`, and `query` if it is the query that was sent.
  const said = {
    success: true,
    query: q,
    ...columns,
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
    asGiven: leftover(fields, said, answerNames),
    results: results.placed,
    entities: entities.placed,
    clusters: clusters.placed,
    related: related.placed,
    features: featuresOf(extra),
  }
}

/** An item in a list. `exact` is true if the row stores the item completely. */
interface Item<T> {
  readonly value: T
  readonly exact: boolean
}

/** Reads list items with their positions. `exact` contains the list only if the rows represent it exactly. */
function readList<T>(
  fields: JsonObject,
  name: (typeof listNames)[number],
  readItem: (item: Json) => Item<T> | null,
): { placed: Placed<T>[]; exact: readonly Json[] } {
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
  const { position, title, url, snippet, domain } = resultShape.parse(given)
  const page = url === null ? null : pageOf(url)
  const hosted = page?.domain ?? null
  const named = domain === null || domain === hosted?.host ? hosted : domainOf(domain)
  const columns = { position, title, url: page?.url ?? null, snippet, domain: named?.host ?? null }
  const value = {
    position,
    title,
    snippet,
    page,
    domain: named,
    extra: unnamed(given, resultNames),
    asGiven: leftover(given, columns, resultNames),
  }
  return { value, exact: true }
}

function readEntity(given: Json): Item<Entity> | null {
  const read = entityShape.safeParse(given)
  if (!read.success || !isObject(given)) return null
  const { name, type } = read.data
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

// Spec gap 2.5: additional fields are not documented. The names below are common in search APIs.
const addresses = ['url', 'link', 'href', 'displayed_link', 'website']
const hosts = ['domain', 'host', 'source']
const texts = ['title', 'question', 'text', 'name', 'query', 'answer', 'snippet', 'content']

/** Reads items from blocks outside the specification, one row per item. Skips blocks that are plain values. */
export function featuresOf(extra: JsonObject | null): readonly Placed<Feature>[] {
  if (extra === null) return []
  return Object.entries(extra)
    .flatMap(([kind, block]) => thingsOf(block).map((thing) => featureOf(kind, thing)))
    .map((item, index) => ({ ordinal: index + 1, item }))
}

function thingsOf(block: Json): readonly Json[] {
  if (Array.isArray(block)) return (block as readonly Json[]).filter((thing) => thing !== null)
  return isObject(block) ? [block] : []
}

function featureOf(kind: string, thing: Json): Feature {
  if (typeof thing === 'string') return { kind, page: null, domain: null, text: thing, extra: null }
  if (!isObject(thing)) {
    return { kind, page: null, domain: null, text: null, extra: { value: thing } }
  }
  const address = nameOf(thing, addresses, (text) => /^https?:\/\//i.test(text))
  // A value with blanks is a display name, not a host.
  const host = nameOf(thing, hosts, (text) => /^[^\s/:]+\.[^\s/:]+$/.test(text))
  const title = nameOf(thing, texts, (text) => text !== '')
  const page = address === null ? null : pageOf(textOf(thing, address))
  const domain = host === null ? (page?.domain ?? null) : domainOf(textOf(thing, host))
  const said = [address, host, title]
  const rest = Object.entries(thing).filter(([name]) => !said.includes(name))
  return {
    kind,
    page,
    domain,
    text: title === null ? null : textOf(thing, title),
    extra: rest.length === 0 ? null : Object.fromEntries(rest),
  }
}

function nameOf(
  thing: JsonObject,
  names: readonly string[],
  fits: (text: string) => boolean,
): string | null {
  return names.find((name) => Object.hasOwn(thing, name) && fits(textOf(thing, name))) ?? null
}

function textOf(thing: JsonObject, name: string): string {
  const value = thing[name]
  return typeof value === 'string' ? value : ''
}

// Spec gap 2.5: the specification does not say which fields are always present. Each field is read separately, so a
// missing, null or mistyped field does not affect other fields.
function orNull<T extends z.ZodType>(shape: T) {
  return z
    .nullable(shape)
    .default(null as never)
    .catch(null as never)
}

const textField = orNull(z.string())
const filled = orNull(z.string().min(1))

// No call costs a million credits. A larger value is wrong, and would raise all later reservations.
const mostCredits = 1_000_000
const digits = z
  .string()
  .regex(/^(0|-?[1-9]\d{0,15})$/)
  .transform(Number)
const whole = z.union([z.int(), digits.pipe(z.int())])

/** Costs are rounded to a millionth of a credit. Smaller fractions are floating-point errors, as in 0.1 + 0.2. */
const decimals = 1_000_000
/** A number of credits, possibly fractional. The ledger counts whole credits: costs are rounded up, balances down. */
const amount = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^(0|-?[1-9]\d{0,15})(\.\d{1,12})?$/)
      .transform(Number),
  ])
  .transform((credits) => Math.round(credits * decimals) / decimals)
const cost = amount.transform((credits) => Math.ceil(credits)).pipe(z.int().min(0).max(mostCredits))
// A paid search cannot leave a negative balance. A wrong negative value would stop an account that has credits.
const balance = amount.transform((credits) => Math.floor(credits)).pipe(z.int().min(0))

const answerShape = z.object({
  intent: textField,
  sentiment: textField,
  credits_used: orNull(cost),
  credits_remaining: orNull(balance),
})

const resultShape = z.object({
  position: orNull(whole),
  title: textField,
  url: filled,
  snippet: textField,
  domain: filled,
})

/** Fields of an entity. A name cannot contain U+001F, which separates the name from the type in the id. */
const entityShape = z.object({
  // eslint-disable-next-line no-control-regex -- rejects the separator
  name: z.string().regex(/^[^\u001f]*$/),
  type: textField,
})

const statementShape = z.object({
  success: orNull(z.boolean()),
  query: textField,
  error: orNull(z.object({ code: textField, message: textField })),
})

const listNames = ['clusters', 'entities', 'organic_results', 'related_searches'] as const

const resultNames: ReadonlySet<string> = new Set(['position', 'title', 'url', 'snippet', 'domain'])
const answerNames: ReadonlySet<string> = new Set([
  ...['success', 'query', 'intent', 'sentiment', 'credits_used', 'credits_remaining'],
  ...listNames,
])

function unnamed(given: JsonObject, names: ReadonlySet<string>): JsonObject | null {
  // Returns early in the usual case, without additional fields.
  let all = true
  for (const name of Object.keys(given)) all &&= names.has(name)
  if (all) return null
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name)))
}

/**
 * Returns the fields that columns cannot hold exactly, or null. `columns` maps API names to stored values, except
 * lists that cannot be stored exactly as rows. The `missing` key is safe, because the specification has no field
 * of that name.
 */
function leftover(
  given: JsonObject,
  columns: JsonObject,
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

// A few hosts and entities account for most occurrences in answers, so their hashes are cached.
const remembered = 10_000

function recall<T>(cache: Map<string, T>, name: string, make: () => T): T {
  const known = cache.get(name)
  if (known !== undefined) return known
  const made = make()
  if (cache.size >= remembered) cache.clear()
  cache.set(name, made)
  return made
}

const domains = new Map<string, Domain>()
const recentEntities = new Map<string, Entity>()
const recentClusters = new Map<string, Term>()

/** Returns the domain for any spelling of a host. A different spelling is stored with the result. */
function domainOf(given: string): Domain {
  return recall(domains, given, () => {
    const host = asciiHost(given)
    return { id: idBytes('domain', host), host, site: siteOf(host) }
  })
}

/** Returns a URL's page. Pages are not cached, because most URLs are seen only once. */
function pageOf(url: string): Page {
  const { host, key } = readAddress(url)
  const domain = host === null ? null : domainOf(host)
  return { id: pageIdBytes(url, key), domain, url, key }
}

/** Returns an entity. The name must not contain U+001F, which separates name and type in the id. */
function entityOf(name: string, type: string | null): Entity {
  return recall(recentEntities, type === null ? name : `${name}\u001f${type}`, () => ({
    id: type === null ? idBytes('entity', name) : idBytes('entity', name, type),
    name,
    type,
  }))
}

function clusterOf(text: string): Term {
  return recall(recentClusters, text, () => ({ id: idBytes('cluster', text), text }))
}

function relatedOf(text: string): Term {
  return { id: idBytes('related_search', text), text }
}

// Click-tracking parameters, which do not identify a page.
const tracking =
  /^(utm_[a-z_]+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_cid|mc_eid|srsltid|_ga|_gl)(=|$)/i

/**
 * Parses an address as a browser would. The key omits the scheme, fragment, tracking parameters and trailing slash, so
 * all spellings of an address have the same key. For an invalid address, the key is its text, and the host is null.
 */
export function readAddress(url: string): { readonly host: string | null; readonly key: string } {
  const parsed = parseUrl(url)
  if (parsed === null || parsed.hostname === '')
    return { host: null, key: url.replace(/#.*$/s, '') }
  const path = parsed.pathname.replace(/\/$/, '')
  return {
    host: parsed.hostname,
    key: `${withoutDefaultPort(parsed)}${path}${withoutTracking(parsed.search)}`,
  }
}

/** Returns the registrable domain according to the public suffix list (with private suffixes), or null. */
export function siteOf(host: string): string | null {
  const ascii = domainToASCII(host)
  return getDomain(ascii === '' ? host : ascii, { allowPrivateDomains: true })
}

function withoutTracking(search: string): string {
  if (search === '') return ''
  const kept = search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !tracking.test(parameter))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}

// The key contains no scheme, so default ports are omitted too.
function withoutDefaultPort(url: URL): string {
  return url.port === '80' || url.port === '443' ? url.hostname : url.host
}
