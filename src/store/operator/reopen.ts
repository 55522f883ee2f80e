import { sql } from '../kysely.ts'
import { insisting } from './change.ts'
import { flawCode } from './failures.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'

/** Which tasks a person means. */
export interface Selection {
  readonly run: number | null
  readonly list: string | null
  readonly states: readonly string[]
  /** Only tasks that ended with this error, or whose answer has this flaw. */
  readonly error: string | null
  /** Only tasks whose query has this label in the list of the run. */
  readonly tag: string | null
  /** Only tasks that ended then or later. */
  readonly since: Date | null
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

// The tables took the body of its answer and not the rows: it is paid for, and `reparse` stores them.
const refused = sql`
  t.error_code is not distinct from 'UNSTORABLE'
  and exists (select from calls c join raw_answers a on a.call_id = c.id where c.task_id = t.id)`

/** Tasks that a selection leaves out because their answers are there, without rows. */
export async function countRefused(db: Database, selection: Selection): Promise<number> {
  if (selection.buyAgain) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count
    from tasks t
    where ${selected({ ...selection, buyAgain: true })} and t.search_id is null and ${refused}`.execute(
    db,
  )
  return only(rows).count
}

function selected({ run, list, states, error, tag, since, buyAgain }: Selection) {
  return sql`
    t.state = any(${states}::text[])
    and (${run}::bigint is null or t.run_id = ${run}::bigint)
    and (
      ${error}::text is null
      or t.error_code = ${error}::text
      or exists (select from searches s where s.id = t.search_id and ${flawCode} = ${error}::text)
    )
    and (${since}::timestamptz is null or t.finished_at >= ${since}::timestamptz)
    and (
      ${tag}::text is null
      or exists (
        select from runs r
        join list_queries lq on lq.list_id = r.list_id and lq.query_id = t.query_id
        where r.id = t.run_id and ${tag}::text = any(lq.tags)
      )
    )
    and (
      ${buyAgain}::boolean
      or t.state = 'not_asked'
      or (t.search_id is null and not (${refused}))
    )
    and exists (
      select from runs r
      join lists l on l.id = r.list_id
      where r.id = t.run_id and r.state <> 'cancelled' and (${list}::text is null or l.name = ${list}::text)
    )`
}

// Whoever buys waits for the rows of the runs: no longer than so many tasks take.
const portion = 2000

/**
 * Opens tasks of these runs again, with all their tries, a portion at a time; the slices of the runs must be queued. What
 * a retry that broke off did not reach is found by the next one.
 */
export async function reopenTasks(
  db: Database,
  selection: Selection,
  runs: readonly number[],
): Promise<number> {
  let reopened = 0
  // By their numbers: one that was answered anew meanwhile must not be opened once more.
  for (let after = 0; ;) {
    const some = await insisting(() => reopenPortion(db, selection, { runs, after }))
    if (some.last === null) return reopened
    reopened += some.count
    after = some.last
  }
}

/** The runs first, then the tasks, as whoever settles takes them: no two can wait for each other for long. */
async function reopenPortion(
  db: Database,
  selection: Selection,
  { runs, after }: { readonly runs: readonly number[]; readonly after: number },
): Promise<{ readonly count: number; readonly last: number | null }> {
  return db.transaction().execute(async (trx) => {
    await sql`
      select from runs where id = any(${runs}::bigint[]) order by id for no key update`.execute(trx)
    const { rows } = await sql<{ count: number; last: number | null }>`
      with meant as materialized (
        select t.id
        from tasks t
        where t.run_id = any(${runs}::bigint[])
          and t.id > ${after}
          and ${selected(selection)}
        order by t.id
        limit ${portion}
      ),
      reopened as (
        update tasks t
        set
          state = 'open', attempts = 0, ambiguous = 0, deaths = 0, not_before = null,
          finished_at = null, error_code = null, error_message = null,
          search_id = null,
          answers_after = case
            when t.search_id is null and t.error_code is distinct from 'UNSTORABLE' then t.answers_after
            else clock_timestamp()
          end
        where t.id = any(array(select id from meant))
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
        set state = 'open', finished_at = null, opened_at = clock_timestamp()
        where id in (select run_id from reopened)
      )
      select (select count(*) from reopened) as count, (select max(id) from meant) as last`.execute(
      trx,
    )
    return only(rows)
  })
}
