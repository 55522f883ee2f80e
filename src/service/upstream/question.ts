// Parses a query for the document search, and runs a search's statements so that they can be cancelled.

import type pg from 'pg'
import { toldPid } from '../../base/database/database.ts'
import type { Tables } from '../database.ts'

export interface AskedWords {
  /** Distinct words of the query in lower case, without excluded words. */
  readonly words: readonly string[]
  /** Text for `websearch_to_tsquery` if the query has quotes, `-` or `or`; null for plain words. */
  readonly operators: string | null
}

// Bounds the cost of a statement: a query of three hundred words costs no more than a query of this length.
const mostWords = 32
const longestWord = 64

/** Repeated words count once, and words beyond the thirty-second are ignored. */
export function readQuestion(q: string): AskedWords {
  const tokens = new Map<string, Token>()
  let room = mostWords
  const asked = q.replaceAll('\0', ' ').toLowerCase().replaceAll('.prototype.', '.')
  for (const text of asked.match(/-?"[^"]*"?|\S+/g) ?? []) {
    const token = readToken(text)
    if (token.words.length === 0 || tokens.has(token.text)) continue
    room -= token.words.length
    if (room < 0) break
    tokens.set(token.text, token)
  }
  const list = [...tokens.values()]
  const wanted = list.filter(({ excluded, joins }) => !excluded && !joins)
  // If a query consists only of exclusions, such as `-css`, the excluded words are searched instead.
  const meant = wanted.length === 0 ? list : wanted
  const words = [...new Set(meant.flatMap((token) => token.words))]
  const operates =
    wanted.length > 0 && list.some(({ excluded, quoted, joins }) => excluded || quoted || joins)
  return { words, operators: operates ? websearch(list, wanted) : null }
}

type Token = ReturnType<typeof readToken>

function readToken(text: string) {
  // A word such as `-webkit-box-reflect` is a name rather than an exclusion.
  const excluded = /^-["\p{L}\p{N}]/u.test(text) && !/^-(webkit|moz|ms|o|epub)-/.test(text)
  const words = (text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => word.slice(0, longestWord))
  return { text, words, excluded, quoted: text.includes('"'), joins: text === 'or' }
}

/**
 * Rebuilds the query for PostgreSQL. If the query contains an `or`, a single `or` joins each pair of neighbouring
 * words, so that a chain of `or` stays short.
 */
function websearch(tokens: readonly Token[], wanted: readonly Token[]): string {
  const textOf = ({ words }: Token) => (words.length > 1 ? `"${words.join(' ')}"` : words.join(''))
  const unwanted = tokens.filter(({ excluded }) => excluded).map((token) => `-${textOf(token)}`)
  const join = tokens.some(({ joins }) => joins) ? ' or ' : ' '
  return [wanted.map(textOf).join(join), ...unwanted].join(' ')
}

/** One search's statements, on a separate connection. */
export interface Statements {
  rows<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<Row[]>
}

/** When the signal aborts, cancels the current statement. */
export async function withStatements<T>(
  { searches, pool }: Pick<Tables, 'searches' | 'pool'>,
  signal: AbortSignal,
  work: (run: Statements) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = await searches.connect()
  const cancel = () => {
    pool.query('select pg_cancel_backend($1)', [toldPid(client)]).catch(() => undefined)
  }
  signal.addEventListener('abort', cancel, { once: true })
  let broken = true
  try {
    signal.throwIfAborted()
    const result = await work({ rows: async (query) => (await client.query(query)).rows as never })
    broken = false
    return result
  } finally {
    signal.removeEventListener('abort', cancel)
    // If the signal aborted, the connection is closed, because a cancel request in transit must not hit the next search
    // on this connection.
    client.release(broken || signal.aborted)
  }
}
