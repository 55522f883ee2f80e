// Draws the page that replaces a page that failed.

import { troubleOf } from '../base/database/trouble.ts'
import { codeOf, MillError, WrongDatabase } from '../base/errors.ts'
import { scrub, scrubbedReason } from '../base/secret.ts'
import { BadAddress, NotThere } from './address.ts'
import { type Html, html } from './drawing/html.ts'
import { Refused } from './guard.ts'
import type { View } from './page.ts'

interface Problem {
  readonly status: 400 | 401 | 403 | 404 | 413 | 429 | 500 | 503
  readonly view: View
  /** Seconds after which the browser retries automatically; null if waiting does not help. */
  readonly again: number | null
  /** True if the error is a bug in this program. Such errors are logged. */
  readonly bug: boolean
}

const againSeconds = 3
const timedOut = '57014'

/** Explains why a request failed, and says what the visitor can do. */
export function problemOf(error: unknown): Problem {
  if (error instanceof NotThere) return said(404, 'Not here', error.message)
  if (error instanceof BadAddress) return said(400, 'Invalid address', error.message)
  if (error instanceof Refused) return said(error.status, 'Access denied', error.message)
  if (error instanceof WrongDatabase) {
    const text = 'The tables and this program are of different releases.'
    return waiting('The tables are not ready', text, error.message)
  }
  if (codeOf(error) === timedOut) {
    const text = 'The database took too long to answer for this page. Try a shorter period.'
    return said(503, 'This page took too long', text)
  }
  if (isAway(error)) {
    const text = 'The database does not answer. This page reloads automatically when it does.'
    return waiting('The database is unreachable', text, scrubbedReason(error))
  }
  if (error instanceof MillError)
    return said(400, 'This request cannot be answered', scrub(error.message))
  return { ...said(500, 'Internal error', "The details are in the desk's log."), bug: true }
}

/** True while the database is unreachable, so that a retry may succeed. */
function isAway(error: unknown): boolean {
  if (error instanceof MillError) return error.exit === 5
  return troubleOf(error) === 'away' && codeOf(error) !== null
}

function said(status: Problem['status'], title: string, text: string): Problem {
  const words = html`<p>${text}</p>
    <p><a href="/">To the overview</a></p>`
  return problem(status, title, words)
}

function waiting(title: string, text: string, detail: string): Problem {
  const words = html`<p>${text}</p>
    <p class="soft">${detail}</p>`
  return { ...problem(503, title, words), again: againSeconds }
}

function problem(status: Problem['status'], title: string, words: Html): Problem {
  const body = html`<section class="problem" role="alert">${words}</section>`
  return { status, view: { title, body }, again: null, bug: false }
}
