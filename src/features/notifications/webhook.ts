// Posts a signed notice to the webhook, in the receiver's format.

import { createHmac } from 'node:crypto'
import type { Webhook } from '../../base/config.ts'
import { codeOf, reasonOf, Unreachable } from '../../base/errors.ts'
import type { Secret } from '../../base/secret.ts'
import { readWait } from '../../core/search/verdict.ts'

const answerWithinMs = 10_000

/** Posts a notice once; throws if no reply arrives. The error never contains the URL, which is often secret. */
export async function post(webhook: Pick<Webhook, 'url' | 'secret' | 'format'>, notice: Notice) {
  const { address, authorization } = withoutLogin(webhook.url)
  const body = bodyOf(notice, webhook.format)
  const answer = await fetch(address, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'querymill',
      ...headersOf({ id: notice.id, body }, webhook.secret),
      ...authorization,
    },
    body,
    // A redirect counts as a rejection, because it would send the notice to a URL that was not configured.
    redirect: 'manual',
    signal: AbortSignal.timeout(answerWithinMs),
  }).catch((cause: unknown) => {
    // Shows only the error's code or name, because the error's message contains the URL.
    const blocked = reasonOf(cause) === 'bad port'
    const named = cause instanceof Error ? (codeOf(cause.cause) ?? cause.name) : 'an error'
    const why = blocked ? `port ${address.port}, which web requests must not use` : named
    throw new Unreachable(`expected the webhook to respond, got ${why}`, { cause })
  })
  const { ok, status, headers } = answer
  const waitMs = readWait(headers.get('retry-after'), new Date())
  return { ok, status, said: await beginning(answer), waitMs }
}

export function refusalOf({ status }: Pick<Response, 'status'>): string {
  return `expected the webhook to accept a notice, got status ${status}`
}

const shownBytes = 300

/** Reads only the beginning of a reply, because a reply can be endless. */
async function beginning({ body }: Response): Promise<string> {
  try {
    for await (const part of body ?? []) {
      return Buffer.from(part).subarray(0, shownBytes).toString('utf8').trim()
    }
  } catch {
    // Read errors are ignored, because the status code has already arrived.
  }
  return ''
}

/** Moves a name and password from the URL to a header, because fetch rejects URLs with credentials. */
function withoutLogin(url: URL) {
  if (url.username === '' && url.password === '') return { address: url, authorization: {} }
  const address = new URL(url)
  address.username = ''
  address.password = ''
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`
  return { address, authorization: { authorization } }
}

/** Notice content: one line that chat tools display, and the same data as fields. */
interface Notice {
  readonly id: string
  readonly kind: string
  readonly text: string
  readonly at: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Formats a notice's body: as JSON with fields for programs, or as text for Slack. */
export function bodyOf(notice: Notice, format: 'json' | 'slack'): string {
  const { id, kind, text, at, fields } = notice
  if (format === 'json') return JSON.stringify({ text, event: kind, id, ...fields, noted_at: at })
  // A query or list name may look like Slack markup, so markup, links and mentions are disabled.
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return JSON.stringify({ text: escaped, mrkdwn: false })
}

/** Headers that identify and sign a notice, per standardwebhooks.com. The timestamp is the time of this attempt. */
export function headersOf(
  { id, body }: { readonly id: string; readonly body: string },
  secret: Secret | null,
  seconds = Math.floor(Date.now() / 1000),
): Record<string, string> {
  const named = { 'webhook-id': id, 'webhook-timestamp': String(seconds) }
  if (secret === null) return named
  const signature = createHmac('sha256', keyOf(secret))
    .update(`${id}.${seconds}.${body}`)
    .digest('base64')
  return { ...named, 'webhook-signature': `v1,${signature}` }
}

function keyOf(secret: Secret): Buffer {
  const [, encoded] = /^whsec_(.*)$/s.exec(secret.reveal()) ?? []
  return encoded === undefined ? Buffer.from(secret.reveal()) : Buffer.from(encoded, 'base64')
}
