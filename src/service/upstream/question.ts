// Parses a query for the document search, and runs its statements so that they can be cancelled.

import type pg from 'pg'
import { toldPid } from '../../base/database/database.ts'
import type { Tables } from '../database.ts'

/** A parsed query. */
export interface AskedWords {
  /** Distinct words in lower case, without excluded ones. */
  readonly words: readonly string[]
  /** Text for `websearch_to_tsquery` when the query has quotes, `-` or `or`; null for plain words. */
  readonly operators: string | null
}

// Bounds the cost of one statement: a query of three hundred words costs as much as one of this length.
const mostWords = 32
const longestWord = 64

/** Parses a query. Repeated words count once, and words beyond the thirty-second are ignored. */
export function readQuestion(q: string): AskedWords {
  const tokens = new Map<string, Token>()
  let room = mostWords
  for (const [text] of q
    .replaceAll('\0', ' ')
    .toLowerCase()
    .replaceAll('.prototype.', '.')
    .matchAll(/-?"[^"]*"?|\S+/g)) {
    const token = readToken(text)
    if (token.words.length === 0 || tokens.has(token.text)) continue
    room -= token.words.length
    if (room < 0) break
    tokens.set(token.text, token)
  }
  const list = [...tokens.values()]
  const wanted = list.filter(({ excluded, joins }) => !excluded && !joins)
  // A query that consists only of exclusions excludes nothing: `-css` is then searched as a word.
  const meant = wanted.length === 0 ? list : wanted
  const words = [...new Set(meant.flatMap((token) => token.words))]
  const operates =
    wanted.length > 0 && list.some(({ excluded, quoted, joins }) => excluded || quoted || joins)
  return { words, operators: operates ? websearch(list) : null }
}

interface Token {
  readonly text: string
  readonly words: readonly string[]
  readonly excluded: boolean
  readonly quoted: boolean
  readonly joins: boolean
}

function readToken(text: string): Token {
  // `-webkit-box-reflect` is a name, not an exclusion.
  const excluded = /^-["\p{L}\p{N}]/u.test(text) && !/^-(webkit|moz|ms|o|epub)-/.test(text)
  const words = (text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => word.slice(0, longestWord))
  return { text, words, excluded, quoted: text.includes('"'), joins: text === 'or' }
}

/**
 * Rebuilds the query for PostgreSQL. If the query has an `or`, a single `or` joins each pair of neighbouring words, so
 * that a chain of `or` stays short.
 */
function websearch(tokens: readonly Token[]): string {
  const textOf = ({ words }: Token) =>
    words.length > 1 ? `"${words.join(' ')}"` : (words[0] ?? '')
  const wanted = tokens.filter(({ excluded, joins }) => !excluded && !joins).map(textOf)
  const unwanted = tokens.filter(({ excluded }) => excluded).map((token) => `-${textOf(token)}`)
  const join = tokens.some(({ joins }) => joins) ? ' or ' : ' '
  return [wanted.join(join), ...unwanted].join(' ')
}

/** Statements of one search, on a connection of its own. They are cancelled with the search. */
export interface Statements {
  rows<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<Row[]>
}

/** Runs the statements of a search, and cancels the current one when the signal aborts. */
export async function withStatements<T>(
  { searches, pool }: Pick<Tables, 'searches' | 'pool'>,
  signal: AbortSignal,
  work: (run: Statements) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = await searches.connect()
  const cancel = () => {
    // Cancel over another connection: this one is busy with the statement.
    const text = 'select pg_cancel_backend($1)'
    pool.query(text, [toldPid(client)]).catch(() => undefined)
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
    // A cancel request in transit must not hit the next search on this connection.
    client.release(broken || signal.aborted)
  }
}
