import type { Pool, PoolClient } from 'pg'

/**
 * Ends what a connection is asked as soon as nobody waits for it. What it gives is to be awaited before the connection
 * serves others.
 */
export async function cancelOn(
  pool: Pool,
  client: PoolClient,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  if (signal === undefined) return () => Promise.resolve()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = rows[0]?.pid ?? 0
  let ended: Promise<unknown> = Promise.resolve()
  const end = () => {
    // A statement that cannot be ended has its time limit.
    ended = pool.query('select pg_cancel_backend($1)', [pid]).catch(() => undefined)
  }
  signal.addEventListener('abort', end, { once: true })
  return async () => {
    signal.removeEventListener('abort', end)
    await ended
  }
}
