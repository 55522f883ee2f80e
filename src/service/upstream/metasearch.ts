import { z } from 'zod'
import type { Log } from '../../shared/log.ts'
import { readJson } from './body.ts'
import { upstreamLanguage } from './locale.ts'
import type { Places } from './places.ts'
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
  readonly places: Places
  readonly log: Log
}

/** Nobody answered: that is no empty result, and nobody pays for it. */
export function silence(retryAfter: string | null = null): Refusal {
  return new Refusal(503, 'No search engine answered; nothing was charged', {
    'retry-after': retryAfter ?? '60',
  })
}

const strictness = { off: '0', moderate: '1', strict: '2' } as const

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
    ...upstreamLanguage(search, web.places),
    ...(search.safe === null ? {} : { safesearch: strictness[search.safe] }),
    ...(search.freshness === null ? {} : { time_range: search.freshness }),
  }).toString()
  const response = await request(web, url, wish.signal)
  if (response === null) return null
  if (!response.ok) {
    web.log.warn({ status: response.status, page: wish.number }, 'the upstream refused a page')
    await response.body?.cancel()
    // How long to wait is the upstream's to say; a word of its own would be a guess.
    if (wish.number === 1) throw silence(response.headers.get('retry-after'))
    return null
  }
  const page = pageShape.safeParse(await readWhole(web, response))
  if (page.success) {
    const { unresponsive_engines: engines } = page.data
    if (engines.length > 0) web.log.warn({ engines }, 'engines behind the upstream failed')
    return page.data
  }
  web.log.warn({ page: wish.number }, 'the upstream answered nonsense')
  throw nonsense(page.error)
}

async function readWhole(web: Web, response: Response): Promise<unknown> {
  try {
    return await readJson(response)
  } catch (error) {
    web.log.warn({ err: error }, 'an answer of the upstream broke off')
    return undefined
  }
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
  } catch (error) {
    // Refused, unknown or cut: for the caller it is one thing, an upstream that does not answer.
    if (!signal.aborted) web.log.warn({ err: error }, 'the upstream does not answer')
    return null
  }
}

// An extra is not worth the answer.
const completionMs = 2000

/** Completions of the query, for want of suggestions. They are an extra: without them the answer stands. */
export async function complete(web: Web, search: Search, over: AbortSignal): Promise<string[]> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(completionMs)])
  const url = new URL('autocompleter', baseOf(web.base))
  url.search = new URLSearchParams({ q: withoutCommands(search.q) }).toString()
  try {
    const headers = { 'x-requested-with': 'XMLHttpRequest' }
    const response = await web.get(url, { redirect: 'manual', headers, signal })
    if (!response.ok) return []
    const body = z.array(z.unknown()).parse(await readJson(response))
    // Plain list, or the five fields of OpenSearch, the second of which is the list.
    const list = Array.isArray(body[1]) ? (body[1] as unknown[]) : body
    return list.filter((text): text is string => typeof text === 'string')
  } catch (error) {
    web.log.info({ err: error }, 'the upstream has no completions')
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
