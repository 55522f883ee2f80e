// Runs a statement in a read-only transaction.

import { npmRun } from '../../base/cli/commands.ts'
import pg, { type Pool, type PoolClient } from 'pg'
import { openPool, type PoolOptions } from '../../base/database/database.ts'
import { askOnce, type CellBatch, fetchAll } from '../../base/database/fetch.ts'
import { findReader, withheld } from '../../base/database/reader-role.ts'
import { only } from '../../base/database/sql-file.ts'
import { onlyList, readingSettings, setSettings, type Slice } from '../../base/database/views.ts'
import { Misuse } from '../../base/errors.ts'

export interface Inquiry {
  readonly text: string
  readonly values?: readonly (string | null)[]
  /** Index of the day in `values`. The value "newest" is replaced with a date before the statement runs. */
  readonly day?: number | undefined
  readonly timeoutMs: number
  /** Origins of answers to show. If undefined, the database default (normally live) applies. */
  readonly origins?: string | undefined
  readonly suspects?: boolean | undefined
  readonly slice?: Slice | undefined
  /** Cancels the statement when the result is no longer needed. */
  readonly signal?: AbortSignal
  /** Maximum characters per cell; longer cells end in an ellipsis. With a limit, results are read in small batches. */
  readonly cell?: number
  /** Called with the connection before the statement runs. The connection is closed after the result has been read. */
  readonly before?: ((client: PoolClient) => Promise<void>) | undefined
  readonly warn: (line: string) => void
}

/** Runs a statement with the read-only role and a time limit. Only one batch of rows is in memory at a time. */
export async function* readBatches(pool: Pool, inquiry: Inquiry): AsyncGenerator<CellBatch> {
  const kind = kindOf(inquiry.text)
  const reader = await findReader(pool)
  if (reader === null) {
    inquiry.warn(
      `the database has no read-only role, so SQL runs as the user of DATABASE_URL in a read-only transaction; ${npmRun('migrate')} creates the role if that user may create roles`,
    )
  }
  const client = await pool.connect()
  let settle = () => Promise.resolve()
  try {
    await inquiry.before?.(client)
    settle = await cancelOn(pool, client, inquiry.signal)
    await client.query('begin read only')
    const { timeoutMs, origins, suspects, slice } = inquiry
    const settings = {
      ...readingSettings({ timeoutMs, origins, slice, suspects: suspects || undefined }),
      // All rows are read, so the planner must not optimize for the first rows.
      cursor_tuple_fraction: '1',
    }
    await client.query(setSettings, [Object.keys(settings), Object.values(settings)])
    if (reader !== null) await client.query(`set local role ${reader}`)
    const values = await nameDay(client, inquiry)
    if (kind === 'rows') {
      let some = false
      for await (const batch of fetchAll(client, { ...inquiry, values })) {
        some ||= batch.rows.length > 0
        yield batch
      }
      if (!some) await explainEmpty(client, { ...inquiry, values })
    } else yield await askOnce(client, inquiry.text, values)
  } catch (error) {
    throw explain(error)
  } finally {
    // Otherwise, a pending cancellation could affect the next statement on this connection.
    await settle()
    // The rollback resets the settings. If the rollback fails, the pool discards the broken connection.
    await client.query('rollback').then(
      () => client.release(inquiry.before !== undefined),
      () => client.release(true),
    )
  }
}

function kindOf(text: string): 'rows' | 'report' {
  const code = text.replace(/^(\s+|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/|\()+/, '')
  const word = /^[a-z]+/i.exec(code)?.[0].toLowerCase() ?? ''
  if (['select', 'with', 'values', 'table'].includes(word)) return 'rows'
  if (['show', 'explain'].includes(word)) return 'report'
  throw new Misuse(
    `expected a question that begins with select, with, values, table, show or explain, got ${JSON.stringify(word || text.slice(0, 20))}; this command only reads`,
  )
}

/** Replaces "newest" with a date. With a constant date, the planner can restrict the statement to that day's rows. */
async function nameDay(
  client: PoolClient,
  { values = [], day, slice, warn }: Inquiry,
): Promise<readonly (string | null)[]> {
  if (day === undefined || values[day] !== 'newest') return values
  const { rows } = await client.query<{ newest: string | null; greatest: string | null }>(
    `select
      analysis.newest_day($1)::text as newest,
      (select max(run_date) from public.runs left join public.lists on lists.id = list_id
        where $1::text is null or lists.name = $1)::text as greatest`,
    [slice === undefined ? null : onlyList(slice)],
  )
  const { newest, greatest } = only(rows)
  if (newest !== null && newest !== greatest) {
    warn(
      `the day shown is ${newest}, the newest full day; ${greatest} has too few answers for a comparison`,
    )
  }
  return values.with(day, newest)
}

type EmptyDay = Readonly<
  Record<'planned' | 'away', boolean> &
    Record<'first' | 'suspect', string | null> &
    Record<'answered' | 'weight', number | null>
>

/** Explains an empty result if it is due to the requested day. */
async function explainEmpty(client: PoolClient, inquiry: Inquiry): Promise<void> {
  const { values = [], day: index, slice, warn } = inquiry
  const day = index === undefined ? (slice?.until ?? slice?.since) : values[index]
  if (day === undefined || day === null) return
  const { rows } = await client.query<EmptyDay>(
    `select
      (select min(run_date)::text from public.runs) as first,
      exists (select from public.runs where run_date = $1) as planned,
      (
        select string_agg(distinct lists.name, ', ')
        from public.runs
        join public.lists on lists.id = runs.list_id
        where runs.run_date = $1
          and runs.suspect
          and not analysis.shows_suspects()
      ) as suspect,
      exists (select from analysis.away_days where run_date = $1) as away,
      sums.queries as answered,
      sums.weight
    from (select 1) as one
    left join analysis.label_days as sums on sums.run_date = $1 and sums.tag = '*'`,
    [day],
  )
  const reason = emptyReason(day, only(rows))
  if (reason !== null) warn(`no rows: ${reason}`)
}

function emptyReason(day: string, found: EmptyDay): string | null {
  const { first, planned, suspect, away, answered, weight } = found
  if (first === null) return `nothing has been bought yet; ${npmRun('enqueue')} plans a list`
  if (day < first) return `${day} is before the first run (${first})`
  if (away) return `the answers from ${day} are in the archive; add --with-archive to read them`
  if (suspect !== null) {
    return `the run of ${suspect} on ${day} is suspect and was left out; use --suspects to show its answers, or ${npmRun('sql --')} nights to see why`
  }
  if (!planned) return `there is no run for ${day}; ${npmRun('sql --')} nights lists the nights`
  if (answered === null || answered === 0) {
    return `none of the requested queries was answered on ${day}; ${npmRun('sql --')} nights shows why`
  }
  return weight === 0 ? `all queries on ${day} have weight 0, so no domain has a share` : null
}

/** Cancels the statement when its result is no longer needed. Await the returned function before the next statement. */
async function cancelOn(
  pool: Pool,
  client: PoolClient,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  if (signal === undefined) return () => Promise.resolve()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { pid } = only(rows)
  let ended: Promise<unknown> = Promise.resolve()
  const end = () => {
    // If cancelling fails, the time limit still applies.
    ended = pool.query('select pg_cancel_backend($1)', [pid]).catch(() => undefined)
  }
  signal.addEventListener('abort', end, { once: true })
  return async () => {
    signal.removeEventListener('abort', end)
    await ended
  }
}

const timedOut = '57014'
const notAllowed = '42501'

/** Converts a database error to one line with the server's hint. A mistake in an analyst's SQL is not a program bug. */
function explain(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const hint = error.hint === undefined ? '' : `; ${error.hint}`
  if (error.code === timedOut) {
    return new Misuse('the question was not answered within the time limit; increase --timeout', {
      cause: error,
    })
  }
  if (error.code === notAllowed) return refuse(error)
  return new Misuse(`the database cannot answer this question: ${error.message}${hint}`, {
    cause: error,
  })
}

function refuse(error: pg.DatabaseError): Misuse {
  // The server's message may be in another language, but it always contains the table name.
  const kept = withheld.find((name) => new RegExp(`\\b${name}\\b`).test(error.message))
  const got =
    kept === undefined
      ? error.message
      : `${kept}, an internal table of querymill that is neither shown nor exported`
  return new Misuse(
    `expected analyst views or tables of answers, lists and runs, got: ${got}; docs/schema.md lists the readable views and tables`,
    { cause: error },
  )
}

/** Functions that let read-only SQL change its role or settings, affect other connections, or execute a string. */
const harmful =
  /(set_config|query_to_xml|cursor_to_xml|ts_stat|ts_rewrite|advisory_(?:xact_)?lock|dblink|pg_settings|pg_read_|pg_ls_|pg_stat_file|lo_import|lo_export|lo_get|pg_logical_emit_message|pg_notify|pg_sleep_until|pg_terminate_backend|pg_cancel_backend)/i

/** Identifiers with Unicode escapes, which could hide any name. */
const spelled = /u&\s*["']/i

/** Schema for analysts' own tables, whose contents are unknown. */
const theirs = /\bscratch\b/i

/** Rejects untrusted SQL that could do more than read data. */
export function expectHarmless(text: string): void {
  const word = [harmful, spelled, theirs].map((pattern) => pattern.exec(text)?.[0]).find(Boolean)
  if (word === undefined) return
  throw new Misuse(
    `expected read-only SQL, got ${JSON.stringify(word)}; the desk refuses this word anywhere in a statement, but ${npmRun('sql')} on the server accepts it`,
  )
}

/** Connects with the analysts' login. Even a statement that switches roles cannot exceed the login's rights. */
export async function openAnalyst({
  url,
  installation,
  ...options
}: PoolOptions & { readonly url: string; readonly installation: string }): Promise<Pool> {
  const pool = openPool(url, { ...options, reading: true })
  try {
    const { rows } = await pool.query<{ login: string; database: string; more: boolean }>(`
      select
        current_user::text as login,
        (select id::text from public.installation) as database,
        rolsuper or rolcreaterole
          or pg_has_role(current_user, (select relowner from pg_class where oid = 'public.calls'::regclass), 'member')
          or has_table_privilege('public.accounts', 'select')
          or has_table_privilege('public.calls', 'update') as more
      from pg_roles
      where rolname = current_user`)
    const { login, database, more } = only(rows)
    if (database !== installation) throw refused('the database of DATABASE_URL', 'another database')
    if (more) throw refused('a login that can only read answers', `${login}, which can do more`)
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}

function refused(expected: string, got: string): Misuse {
  return new Misuse(
    `expected MILL_ANALYST_URL to use ${expected}, got ${got}; ${npmRun('migrate --')} --analyst NAME creates a login and prints its address`,
  )
}
