// Draws the page that is shown when another page fails.

import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { troubleOf } from '../base/database/trouble.ts'
import { codeOf, MillError, WrongDatabase } from '../base/errors.ts'
import { scrub, scrubbedReason } from '../base/secret.ts'
import { BadAddress, NotThere } from './address.ts'
import { html } from './drawing/html.ts'
import type { View } from './page.ts'

interface Problem {
  readonly status: ContentfulStatusCode
  readonly view: View
  /** Seconds after which the browser retries automatically; null if waiting does not help. */
  readonly again: number | null
  /** Bugs in this program are logged. */
  readonly bug: boolean
}

const againSeconds = 3
const timedOut = '57014'

export function problemOf(error: unknown): Problem {
  if (error instanceof NotThere) return said(404, 'Not found', [error.message])
  if (error instanceof BadAddress) return said(400, 'Invalid address', [error.message])
  if (error instanceof HTTPException) {
    return said(error.status, 'Access denied', [error.message])
  }
  if (error instanceof WrongDatabase) {
    const text = 'The tables and this program belong to different releases.'
    return said(503, 'The tables are not ready', [text, error.message])
  }
  if (codeOf(error) === timedOut) {
    const text = 'The database took too long to load this page. Try a shorter period.'
    return said(503, 'This page took too long', [text])
  }
  if (isAway(error)) {
    const text =
      'The database is not responding. This page reloads automatically when the database responds again.'
    return said(503, 'The database is unreachable', [text, scrubbedReason(error)])
  }
  if (error instanceof MillError)
    return said(400, 'This request cannot be answered', [scrub(error.message)])
  return { ...said(500, 'Internal error', ["The details are in the desk's log."]), bug: true }
}

function isAway(error: unknown): boolean {
  if (error instanceof MillError) return error.exit === 5
  return troubleOf(error) === 'away' && codeOf(error) !== null
}

/** With a detail, the page reloads automatically; otherwise, the page links to the overview. */
function said(
  status: Problem['status'],
  title: string,
  [text, detail = null]: readonly [text: string, detail?: string | null],
): Problem {
  const more =
    detail === null
      ? html`<p><a href="/">Go to the overview</a></p>`
      : html`<p class="soft">${detail}</p>`
  const body = html`<section class="problem" role="alert">
    <p>${text}</p>
    ${more}
  </section>`
  return { status, view: { title, body }, again: detail === null ? null : againSeconds, bug: false }
}
