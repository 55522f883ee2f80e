import { sql } from '../kysely.ts'
import { lockAccounts } from './change.ts'
import type { Database } from '../database.ts'

/** Which tasks a person means. */
export interface Selection {
  readonly run: number | null
  readonly list: string | null
  readonly states: readonly string[]
  readonly error: string | null
  /** True: also tasks that have an answer, or the body of one that the tables refused, which would be bought again. */
  readonly buyAgain: boolean
}

/** Runs with tasks that a selection means. */
export interface Choice {
  readonly runs: readonly number[]
  /** Runs that stay closed: another manual run of their list is open, or will be. */
  readonly left: readonly { readonly run: number; readonly instead: number }[]
  /** Tasks of the runs that are to be opened. */
  readonly tasks: number
}

/** At most one manual run of a list is open: the one that is, or else the newest of those that are meant. */
export async function chooseRuns(db: Database, selection: Selection): Promise<Choice> {
  const { rows } = await sql<{ run: number; instead: number; tasks: number }>`
    with meant as (
      select t.run_id, count(*) as tasks
      from tasks t
      where ${selected(selection)}
      group by t.run_id
    )
    select
      r.id as run,
      meant.tasks,
      case
        when r.kind <> 'manual' then r.id
        else coalesce(
          (
            select o.id
            from runs o
            where o.list_id = r.list_id
              and o.kind = 'manual'
              and o.state in ('planning', 'open')
          ),
          max(r.id) over (partition by r.list_id, r.kind)
        )
      end as instead
    from runs r
    join meant on meant.run_id = r.id
    order by r.id`.execute(db)
  const chosen = rows.filter(({ run, instead }) => run === instead)
  return {
    runs: chosen.map(({ run }) => run),
    left: rows.filter(({ run, instead }) => run !== instead),
    tasks: chosen.reduce((sum, { tasks }) => sum + tasks, 0),
  }
}

function selected({ run, list, states, error, buyAgain }: Selection) {
  return sql`
    t.state = any(${states}::text[])
    and (${run}::bigint is null or t.run_id = ${run}::bigint)
    and (${error}::text is null or t.error_code = ${error}::text)
    and (
      ${buyAgain}::boolean
      or (
        t.search_id is null
        and not (
          t.error_code is not distinct from 'UNSTORABLE'
          and exists (select from calls c join raw_answers a on a.call_id = c.id where c.task_id = t.id)
        )
      )
    )
    and exists (
      select from runs r
      join lists l on l.id = r.list_id
      where r.id = t.run_id and r.state <> 'cancelled' and (${list}::text is null or l.name = ${list}::text)
    )`
}

/** Opens tasks of these runs again, with all their tries; the slices of the runs must be queued. */
export async function reopenTasks(
  db: Database,
  selection: Selection,
  runs: readonly number[],
): Promise<number> {
  return db.transaction().execute(async (trx) => {
    await lockAccounts(trx)
    const { rows } = await sql<{ count: number }>`
      with reopened as (
        update tasks t
        set
          state = 'open', attempts = 0, ambiguous = 0, deaths = 0, not_before = null,
          finished_at = null, error_code = null, error_message = null,
          search_id = null,
          answers_after = case when t.search_id is null then t.answers_after else clock_timestamp() end
        where t.run_id = any(${runs}::bigint[])
          and ${selected(selection)}
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
      select count(*) as count from reopened`.execute(trx)
    return rows[0]?.count ?? 0
  })
}
