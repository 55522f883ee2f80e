// A query as far as the documents are asked about it, and the connection that asks.

import type pg from 'pg'

/** A query as far as the documents are asked about it. */
export interface AskedWords {
  /** Distinct words in lower case, without those that are excluded. */
  readonly words: readonly string[]
  /** What `websearch_to_tsquery` reads, where quotes, `-` or `or` were used; null for plain words. */
  readonly operators: string | null
}

// What one statement looks for is bounded: three hundred words cost as much as these.
const mostWords = 32
const longestWord = 64

/** Takes a query apart. Words count once, and the first thirty-two of them decide. */
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
  // Nothing but exclusions excludes nothing: `-css` alone is a word with a sign before it.
  const meant = wanted.length === 0 ? list : wanted
  const words = [...new Set(meant.flatMap((token) => token.words))]
  const operates = wanted.length > 0 && list.some(isOperator)
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
  // `-webkit-box-reflect` is a name, not the wish to see nothing of it.
  const excluded = /^-["\p{L}\p{N}]/u.test(text) && !/^-(webkit|moz|ms|o|epub)-/.test(text)
  const words = (text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).map((word) => word.slice(0, longestWord))
  return { text, words, excluded, quoted: text.includes('"'), joins: text === 'or' }
}

function isOperator({ excluded, quoted, joins }: Token): boolean {
  return excluded || quoted || joins
}

/** `or` joins what stands beside it; each appears once, so that a chain of them is as long as its words. */
function websearch(tokens: readonly Token[]): string {
  const joined = tokens.some(({ joins }) => joins)
  const parts = tokens
    .filter(({ joins }) => !joins)
    .map(({ words, excluded }) => {
      const text = words.length > 1 ? `"${words.join(' ')}"` : (words[0] ?? '')
      return { text: excluded ? `-${text}` : text, excluded }
    })
  const wanted = parts.filter(({ excluded }) => !excluded).map(({ text }) => text)
  const unwanted = parts.filter(({ excluded }) => excluded).map(({ text }) => text)
  return [wanted.join(joined ? ' or ' : ' '), ...unwanted].join(' ')
}

/** Statements of one search, on a connection of its own: when the search is over, so is what runs there. */
export interface Statements {
  rows<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<Row[]>
}

interface SearchPools {
  /** For searches: their statements end by themselves after a while. */
  readonly searches: pg.Pool
  /** For keys and credits, which never wait for a search. */
  readonly pool: pg.Pool
}

/** Runs the statements of a search, and ends the one at work when the signal comes. */
export async function withStatements<T>(
  { searches, pool }: SearchPools,
  signal: AbortSignal,
  work: (run: Statements) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = await searches.connect()
  const cancel = () => {
    // Said over another connection: this one is busy with what is to end.
    const text = 'select pg_cancel_backend($1)'
    pool.query(text, [processOf(client)]).catch(() => undefined)
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
    // A cancel that is still on its way must not meet the next search on this connection.
    client.release(broken || signal.aborted)
  }
}

/** The server's own number of a connection. */
function processOf(client: pg.PoolClient): number {
  return 'processID' in client ? Number(client.processID) : 0
}
