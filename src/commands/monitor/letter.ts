import { createHmac } from 'node:crypto'
import type { Secret } from '../../shared/secret.ts'

/** What is told: one line that a chat tool shows as it is, and the same as fields. */
export interface Notice {
  /** The same in each try. */
  readonly id: string
  readonly kind: string
  readonly text: string
  /** When it was noted. */
  readonly at: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** The body of a notice: for programs with its figures, for Slack its line. */
export function bodyOf(notice: Notice, format: 'json' | 'slack'): string {
  const { id, kind, text, at, fields } = notice
  if (format === 'json') return JSON.stringify({ text, event: kind, id, ...fields, noted_at: at })
  // A query or a list may be named like a command of Slack: no markup, no link, nobody is called.
  return JSON.stringify({ text: escaped(text), mrkdwn: false })
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/**
 * The headers that let a receiver know a notice again and prove who sent it, as standardwebhooks.com has them: an
 * HMAC-SHA256 over id, time and body. The time is that of the try, so that a receiver can refuse what is old.
 */
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

const prefix = 'whsec_'

function keyOf(secret: Secret): Buffer {
  const text = secret.reveal()
  return text.startsWith(prefix)
    ? Buffer.from(text.slice(prefix.length), 'base64')
    : Buffer.from(text)
}
