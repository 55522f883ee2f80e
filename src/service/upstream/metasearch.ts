import { z } from 'zod'
import { upstreamLanguage } from './locale.ts'
import { Refusal } from '../refusal.ts'
import type { Search } from '../schemas.ts'

/** What SearXNG answers, as far as it is used. Anything may be missing or null: engines differ. */
const pageShape = z.object({
  results: z.array(
    z.looseObject({
      url: z.string().nullish(),
      title: z.string().nullish(),
      content: z.string().nullish(),
    }),
  ),
  suggestions: z.array(z.string()).catch([]).default([]),
  corrections: z.array(z.string()).catch([]).default([]),
  infoboxes: z
    .array(
      z.looseObject({
        infobox: z.string(),
        attributes: z.array(z.looseObject({ entity: z.string().nullish() })).nullish(),
      }),
    )
    .catch([])
    .default([]),
  unresponsive_engines: z.array(z.unknown()).catch([]).default([]),
})

export type EnginePage = z.output<typeof pageShape>

/** A SearXNG and how it is reached. */
export interface Web {
  readonly base: URL
  readonly get: typeof fetch
}

/** Nobody answered: that is no empty result, and nobody pays for it. */
export function silence(): Refusal {
  return new Refusal(503, 'No search engine answered; nothing was charged', { 'retry-after': '60' })
}

export interface PageWish {
  readonly number: number
  readonly signal: AbortSignal
}

/** One page of results; null when no engine could be asked. An answer that is not SearXNG's is an error. */
export async function getPage(
  web: Web,
  search: Search,
  wish: PageWish,
): Promise<EnginePage | null> {
  const url = new URL('search', baseOf(web.base))
  url.search = new URLSearchParams({
    q: withoutCommands(search.q),
    format: 'json',
    pageno: String(wish.number),
    ...upstreamLanguage(search),
  }).toString()
  const response = await request(web, url, wish.signal)
  if (response === null || !response.ok) return null
  let body: unknown
  try {
    body = await response.json()
  } catch (cause) {
    throw nonsense(cause)
  }
  const page = pageShape.safeParse(body)
  if (page.success) return page.data
  throw nonsense(page.error)
}

function nonsense(cause: unknown): Refusal {
  const refusal = new Refusal(502, 'The search engine answered nonsense; nothing was charged')
  refusal.cause = cause
  return refusal
}

async function request(web: Web, url: URL, signal: AbortSignal): Promise<Response | null> {
  try {
    // Never followed: an engine's shortcut in a query can point anywhere.
    return await web.get(url, { redirect: 'manual', signal })
  } catch {
    // Refused, unknown or cut: for the caller it is one thing, an upstream that does not answer.
    return null
  }
}

/** Completions of the query, for want of suggestions. They are an extra: without them the answer stands. */
export async function complete(web: Web, search: Search, signal: AbortSignal): Promise<string[]> {
  const url = new URL('autocompleter', baseOf(web.base))
  url.search = new URLSearchParams({ q: withoutCommands(search.q) }).toString()
  try {
    const headers = { 'x-requested-with': 'XMLHttpRequest' }
    const response = await web.get(url, { redirect: 'manual', headers, signal })
    if (!response.ok) return []
    const body = z.array(z.unknown()).parse(await response.json())
    // Plain list, or the five fields of OpenSearch, the second of which is the list.
    const list = Array.isArray(body[1]) ? (body[1] as unknown[]) : body
    return list.filter((text): text is string => typeof text === 'string')
  } catch {
    return []
  }
}

function baseOf(url: URL): URL {
  return new URL(url.pathname.endsWith('/') ? url : `${url.href}/`)
}

/**
 * SearXNG obeys `!engine`, `!!engine`, `:language` and `<100` (a time limit) inside a query; ours are words and nothing
 * else. A `<` before anything but a number it leaves alone, and so do we: `<dialog>` is a word.
 */
function withoutCommands(q: string): string {
  return q.replace(/(^|\s)(?:<*[!:?][!:?<]*(?=\S)|<+(?=\p{N}+(?:\s|$)))/gu, '$1')
}
