import type pg from 'pg'

/** Statements of one search, on a connection of its own: when the search is over, so is what runs there. */
export interface Statements {
  rows<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<Row[]>
}

export interface SearchPools {
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
