import pg from 'pg'
import { WrongDatabase } from '../shared/errors.ts'

/** Settings of a session by name, made once it is known to be ours. */
export type SessionSettings = Readonly<Record<string, string>>

/** Nothing of it waits for long: a server that connects and then says nothing is given up. */
const answerWithinMs = 10_000

/** Looks so often whether two connections get in each other's way: a pooler that serves others too may hide it once. */
const looks = 5

// Settings, and values of them, that only some servers know are made where they are known. A pooler tells a number of its own for the
// session: nothing is set in one that may be somebody else's in the next moment.
const settle = `
select pg_backend_pid() as pid, (
  select count(set_config(name, value, false))
  from json_each_text($1) as given (name, value)
  where pg_backend_pid() = $2
    and exists (
      select from pg_settings s where s.name = given.name and (s.enumvals is null or given.value = any(s.enumvals))
    )
)`

/**
 * Makes the settings of a new connection, by statements: poolers refuse them, or drop them, where they are sent with the
 * greeting. Fails where a pooler gives each transaction another session.
 */
export async function settleSession(
  client: pg.ClientBase,
  settings: SessionSettings,
  address: string,
): Promise<void> {
  const told = toldPid(client)
  if (await isSet(client, settings, told)) return
  if (await isShared(client, address)) throw refused(address)
  await isSet(client, settings, await pidOf(client))
}

async function isSet(client: pg.ClientBase, settings: SessionSettings, pid: number) {
  const { rows } = await client.query<{ pid: number }>(
    timed(settle, [JSON.stringify(settings), pid]),
  )
  return rows[0]?.pid === pid
}

/** The number of the session, as it was told when the connection was made. */
function toldPid(client: pg.ClientBase): number {
  return 'processID' in client ? Number(client.processID) : 0
}

async function pidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(timed('select pg_backend_pid() as pid'))
  return rows[0]?.pid ?? 0
}

function timed(text: string, values: unknown[] = []): pg.QueryConfig {
  const query = { text, values, query_timeout: answerWithinMs }
  return query
}

/** A session that is ours is the same in every transaction, and nobody else is given it meanwhile. */
async function isShared(here: pg.ClientBase, address: string): Promise<boolean> {
  const beside = new pg.Client({
    connectionString: address,
    application_name: 'querymill look',
    connectionTimeoutMillis: answerWithinMs,
  })
  beside.on('error', () => undefined)
  await beside.connect()
  try {
    for (let look = 0; look < looks; look += 1) {
      const before = await pidOf(here)
      await beside.query(timed('begin'))
      const theirs = await pidOf(beside)
      const after = await pidOf(here)
      await beside.query(timed('commit'))
      if (before !== after || before === theirs) return true
    }
    return false
  } catch (error) {
    // A pooler that shares single statements refuses a transaction. Whoever gets no session at all has to wait for one.
    return error instanceof pg.DatabaseError
  } finally {
    await beside.end()
  }
}

function refused(address: string): WrongDatabase {
  const { host } = new URL(address)
  return new WrongDatabase(
    `expected a session of its own for each connection to ${host}, got a pooler that gives each transaction another one (PgBouncer: pool_mode = transaction or statement); set pool_mode = session for this database there, or name PostgreSQL itself in DATABASE_URL (MILL_REPLICA_URL, MILL_ANALYST_URL)`,
  )
}
