// Finds pages on the live web through a SearXNG instance.

import { parseUrl } from '../../base/address.ts'
import { z } from 'zod'
import type { Log } from '../../base/log.ts'
import { enrich } from '../enrich/enrich.ts'
import { Gazetteer } from '../enrich/entities.ts'
import type { Answered, Asker, Provider } from '../sell.ts'
import { Refusal } from '../refusal.ts'
import type { NamedEntity, OrganicResult, Search } from '../schemas.ts'
import { FairQueue } from './fair-queue.ts'

interface Web {
  readonly url: URL
  readonly log: Log
  readonly budgetMs: number
  readonly queue: FairQueue
}

export function openSearxng(url: URL, log: Log, budgetMs = 20_000): Provider {
  const base = new URL(url.pathname.endsWith('/') ? url : `${url.href}/`)
  // At most two pages are fetched at a time, because search engines block an instance that sends requests too quickly.
  const queue = new FairQueue({ places: 2, placesPerAccount: 2, waitingPerAccount: 256 })
  const web = { url: base, log, queue, budgetMs }
  return { name: 'searxng', answer: (search, asker) => answer(web, search, asker) }
}

async function answer(web: Web, search: Search, asker: Asker): Promise<Answered> {
  const { pages, results, partial } = await collect(web, search, asker)
  const suggestions = pages.flatMap((page) => page.suggestions).toSorted()
  const found = {
    results: results.slice(0, search.num),
    pool: results.map(({ title, url, snippet }) => ({ title, url, text: snippet })),
    suggestions: [...pages.flatMap((page) => page.corrections), ...suggestions],
    known: pages.flatMap(({ infoboxes }) => infoboxes.map(toEntity)),
  }
  return {
    answer: await enrich(search.q, found, new Gazetteer([])),
    ignored: (['location', 'device'] as const).filter((name) => search[name] !== null),
    partial,
  }
}

/** Fetches pages one after another, because some engines return the second page only after the first. */
async function collect(web: Web, search: Search, asker: Asker) {
  const { account } = asker
  const byKey = new Map<string, OrganicResult>()
  const pages: EnginePage[] = []
  let partial = false
  const deadline = Math.min(asker.deadline, performance.now() + web.budgetMs)
  const signal = AbortSignal.any([asker.signal, AbortSignal.timeout(web.budgetMs)])
  // Only the first page's request can be refused, or aborted if the client disconnects.
  const first = { account, signal: AbortSignal.any([signal, asker.gone]), deadline }
  const next = { account, signal, deadline: null }
  for (let number = 1; number <= 10; number += 1) {
    const work = () => getPage({ ...web, signal }, search, number)
    const page = await web.queue.run(number === 1 ? first : next, work).catch((error: unknown) => {
      const refused = error instanceof Refusal && number === 1
      if (signal.aborted && !refused) return null
      throw error
    })
    asker.signal.throwIfAborted()
    partial ||= page === null || page.unresponsive_engines.length > 0
    const before = byKey.size
    for (const result of page?.results ?? []) addResult(byKey, result)
    if (number === 1 && byKey.size === 0 && partial) throw noEngine()
    if (page !== null) pages.push(page)
    if (byKey.size === before || byKey.size >= search.num) break
  }
  return { pages, results: [...byKey.values()], partial }
}

function noEngine(retryAfter: string | null = null): Refusal {
  const problem = 'No search engine answered; nothing was charged'
  return new Refusal(503, problem, { 'retry-after': retryAfter ?? '60' })
}

function addResult(byKey: Map<string, OrganicResult>, result: EnginePage['results'][number]): void {
  const { url, title, content } = result
  const address = parseUrl(url)
  if (address === null || !/^https?:$/.test(address.protocol)) return
  const key = keyOf(address)
  if (byKey.has(key)) return
  byKey.set(key, {
    position: byKey.size + 1,
    title: withoutMarkup(title) || address.hostname,
    url: address.href,
    snippet: withoutMarkup(content),
    domain: address.hostname,
  })
}

/** Addresses that differ only in scheme, fragment or tracking parameters have the same key. */
function keyOf(address: URL): string {
  const url = new URL(address)
  const tracking = /^(utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|igshid)$/i
  for (const name of [...url.searchParams.keys()]) {
    if (tracking.test(name)) url.searchParams.delete(name)
  }
  url.hash = ''
  return url.href.slice(url.protocol.length)
}

const wikidataProperties: readonly (readonly [type: string, properties: RegExp])[] = [
  ['Person', /^P(569|570|27)$/],
  ['Place', /^P(1082|36|281)$/],
  ['Organization', /^P159$/],
  ['Product', /^P(400|178)$/],
  ['CreativeWork', /^P(50|57|175)$/],
]

function toEntity({ infobox: name, attributes }: EnginePage['infoboxes'][number]): NamedEntity {
  const found = wikidataProperties.find(([, ids]) =>
    attributes.some(({ entity }) => ids.test(entity)),
  )
  return { name, type: found?.[0] ?? 'Thing' }
}

/** Drops items of the wrong shape, so that they do not invalidate the other items. */
function listOf<Shape extends z.ZodType>(shape: Shape) {
  return z.array(z.unknown()).transform((list) =>
    list.flatMap((one) => {
      const { data } = shape.safeParse(one)
      return data === undefined ? [] : [data]
    }),
  )
}

const texts = listOf(z.string()).catch([])
// Any field may be missing or null, because search engines differ.
const pageShape = z.object({
  results: listOf(
    z.object({
      url: z.string(),
      title: z.string().catch(''),
      content: z.string().catch(''),
    }),
  ),
  suggestions: texts,
  corrections: texts,
  infoboxes: listOf(
    z.object({
      infobox: z.string(),
      attributes: listOf(z.object({ entity: z.string() })).catch([]),
    }),
  ).catch([]),
  unresponsive_engines: z.array(z.unknown()).catch([]),
})

type EnginePage = z.output<typeof pageShape>

/** Returns null if the upstream does not respond or refuses the page. */
async function getPage(web: Web & { signal: AbortSignal }, search: Search, number: number) {
  const { log, signal } = web
  const url = new URL('search', web.url)
  const params = { q: withoutCommands(search.q), format: 'json', pageno: String(number) }
  url.search = String(new URLSearchParams({ ...params, ...upstreamLanguage(search) }))
  // Redirects are not followed, because an engine shortcut in a query can lead to any address.
  const response = await fetch(url, { redirect: 'manual', signal }).catch((error: unknown) => {
    if (!signal.aborted) log.warn({ err: error }, 'the upstream does not answer')
    return null
  })
  if (response === null) return null
  if (!response.ok) {
    log.warn({ status: response.status, page: number }, 'the upstream refused a page')
    await response.body?.cancel()
    if (number === 1) throw noEngine(response.headers.get('retry-after'))
    return null
  }
  const page = await readJson(response)
    .then((body) => pageShape.parse(body))
    .catch((error: unknown) => {
      log.warn({ err: error, page: number }, 'the upstream sent an invalid answer')
      throw new Refusal(502, 'The search engine sent an invalid answer; nothing was charged')
    })
  const { unresponsive_engines: engines } = page
  if (engines.length > 0) log.warn({ engines }, 'engines behind the upstream failed')
  return page
}

/** Removes SearXNG syntax: `!engine`, `!!engine`, `:language`, and `<100` (a time limit), but not `<dialog>`. */
function withoutCommands(q: string): string {
  return q.replace(/(^|\s)(?:<*[!:?][!:?<]*(?=\S)|<+(?=\p{N}+(?:\s|$)))/gu, '$1')
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length
    // A page of results usually takes tens of kilobytes. Returning early closes the connection.
    if (length > 4_000_000) return undefined
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

function upstreamLanguage({ hl, gl }: Search): { language?: string } {
  const [spoken, ...rest] = hl?.split('-') ?? []
  // `zh-Hant-TW` names the country TW; `en-150` names no country.
  const region = gl ?? rest.find((part) => /^[a-z]{2}$/i.test(part))?.toUpperCase()
  if (region === undefined) return spoken === undefined ? {} : { language: spoken.toLowerCase() }
  const language = spoken?.toLowerCase() ?? new Intl.Locale(`und-${region}`).maximize().language
  return { language: `${language}-${region}` }
}

const pair =
  /<(a|b|code|div|em|font|i|li|mark|p|small|span|strong|sub|sup|u)(?: [^<>]{0,200})?>((?:[^<]|<(?!\/?\1\b))*)<\/\1>/gi
const written: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#39': "'",
  '#x27': "'",
  nbsp: ' ',
}

/** Removes the tag pairs with which search engines mark matches. Keeps other text in angle brackets. */
function withoutMarkup(text: string): string {
  let plain = text.slice(0, 20_000).replace(/(?<=\S)<br ?\/?>(?=\S)/gi, ' ')
  for (let depth = 0; depth < 4; depth += 1) plain = plain.replace(pair, '$2')
  return plain
    .replace(/&(#?\w{2,4});/g, (sign, name: string) => written[name.toLowerCase()] ?? sign)
    .replace(/\s+/g, ' ')
    .trim()
}
