import type { ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { pause } from '../shared/waiting.ts'
import { missingKey, Refusal, refusedKey } from './refusal.ts'

const refusals: Readonly<Record<string, () => Refusal>> = {
  401: missingKey,
  402: () =>
    new Refusal(402, 'Not enough credits for this search: 0 left', {
      'x-credits-remaining': '0',
      'x-credits-reset': '3600',
    }),
  403: refusedKey,
  429: () => new Refusal(429, 'At most 1 request a second', { 'retry-after': '2' }),
  500: () => new Refusal(500, 'Something went wrong on our side; nothing was charged'),
  502: () => new Refusal(502, 'The search engine answered nonsense; nothing was charged'),
  503: () =>
    new Refusal(503, 'No search engine answered; nothing was charged', { 'retry-after': '3' }),
  504: () => new Refusal(504, 'The search took too long; nothing was charged'),
}

const longestSlowMs = 60_000

/** What a test key asks to happen, with the query `trouble:429`; null for every other query. */
export function readTrouble(q: string): string | null {
  return /^trouble:([a-z0-9]+)$/.exec(q.trim())?.[1] ?? null
}

/** Fails as asked, so that a client can be tried before it matters; returns true when the answer is to be cut. */
export async function makeTrouble(trouble: string, gone: AbortSignal): Promise<boolean> {
  const refusal = refusals[trouble]
  if (refusal !== undefined) throw refusal()
  const slow = /^slow(\d{0,5})$/.exec(trouble)
  if (slow !== null) await pause(Math.min(longestSlowMs, Number(slow[1] || 5000)), gone)
  return trouble === 'cut'
}

/** An answer that breaks off in its middle, as when a line goes dead. */
export function cutShort(
  outgoing: ServerResponse,
  body: object,
  headers: Readonly<Record<string, string>>,
): Response {
  const text = JSON.stringify(body)
  outgoing.writeHead(200, { ...headers, 'content-length': String(Buffer.byteLength(text)) })
  // Half of what was promised, and then nothing.
  outgoing.write(text.slice(0, text.length / 2), () => outgoing.destroy())
  return RESPONSE_ALREADY_SENT
}
