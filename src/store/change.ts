import { sql, type Transaction } from './kysely.ts'
import type { Database } from './database.ts'
import type { DB } from './schema.ts'

/** Which tasks a person means. */
export interface Selection {
  readonly run: number | null
  readonly list: string | null
  readonly states: readonly string[]
  readonly error: string | null
  /** True: also tasks that have an answer, which would be bought again. */
  readonly buyAgain: boolean
}

// Whoever changes tasks in bulk takes all accounts first, as settlement does: no two can wait for each other.
async function lockAccounts(trx: Transaction<DB>): Promise<void> {
  await sql`select from accounts order by id for no key update`.execute(trx)
}

/** Tasks that a selection means, counted. */
export async function countSelected(db: Database, selection: Selection): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from tasks t where ${selected(selection)}`.execute(db)
  return rows[0]?.count ?? 0
}

function selected({ run, list, states, error, buyAgain }: Selection) {
  return sql`
    t.state = any(${states}::text[])
    and (${run}::bigint is null or t.run_id = ${run}::bigint)
    and (${error}::text is null or t.error_code = ${error}::text)
    and (${buyAgain}::boolean or t.search_id is null)
    and exists (
      select from runs r
      join lists l on l.id = r.list_id
      where r.id = t.run_id and r.state <> 'cancelled' and (${list}::text is null or l.name = ${list}::text)
    )`
}

/** Opens tasks again, with all their tries, and gives back the runs whose slices must be queued. */
export async function reopenTasks(
  db: Database,
  selection: Selection,
): Promise<{ reopened: number; runs: readonly number[] }> {
  return db.transaction().execute(async (trx) => {
    await lockAccounts(trx)
    const { rows } = await sql<{ run_id: number; slice: number; count: number }>`
      with reopened as (
        update tasks t
        set
          state = 'open', attempts = 0, ambiguous = 0, deaths = 0, not_before = null,
          finished_at = null, error_code = null, error_message = null,
          search_id = null,
          answers_after = case when t.search_id is not null then clock_timestamp() end
        where ${selected(selection)}
        returning t.run_id, t.slice
      ),
      slices_open as (
        update slices s
        set done_at = null, round = s.round + 1
        from (select distinct run_id, slice from reopened) r
        where s.run_id = r.run_id and s.slice = r.slice
      ),
      runs_open as (
        update runs
        set state = 'open', finished_at = null
        where id in (select run_id from reopened)
      )
      select run_id, slice, count(*) as count from reopened group by run_id, slice`.execute(trx)
    const runs = new Set(rows.map(({ run_id }) => run_id))
    return { reopened: rows.reduce((sum, { count }) => sum + count, 0), runs: [...runs] }
  })
}

/** Ends a run: what is open is cancelled, what is in flight is still settled and kept. */
export async function cancelRun(db: Database, run: number): Promise<{ cancelled: number } | null> {
  return db.transaction().execute(async (trx) => {
    await lockAccounts(trx)
    const { rows } = await sql<{ cancelled: number }>`
      with ended as (
        update runs
        set state = 'cancelled', finished_at = clock_timestamp()
        where id = ${run} and state in ('planning', 'open')
        returning id
      ),
      dropped as (
        update tasks t
        set state = 'cancelled', finished_at = clock_timestamp()
        from ended
        where t.run_id = ended.id and t.state = 'open'
        returning t.id
      ),
      closed as (
        update slices s
        set done_at = clock_timestamp()
        from ended
        where s.run_id = ended.id and s.done_at is null
      )
      select (select count(*) from dropped) as cancelled from ended`.execute(trx)
    return rows[0] ?? null
  })
}

/** Lifts the stops of an account: one call may be made to see the balance, a refused key may be tried again. */
export async function liftStops(
  db: Database,
  account: number,
): Promise<readonly { reason: string }[]> {
  return db.transaction().execute(async (trx) => {
    await sql`select from accounts where id = ${account} for no key update`.execute(trx)
    await sql`
      update accounts
      set probe_granted = true, blocked_key = null, not_before = null, slowdowns = 0, last_probe_at = null
      where id = ${account}`.execute(trx)
    const { rows } = await sql<{ reason: string }>`
      update stops
      set cleared_at = clock_timestamp(), cleared_by = 'resume'
      where account_id = ${account} and cleared_at is null and reason <> 'budget'
      returning reason`.execute(trx)
    return rows
  })
}
