import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** What is decided for a query. */
export interface KeptDecision {
  readonly id: string
  readonly interval: number
  readonly dueOn: string
  readonly byChance: boolean
  /** The query whose answer it is lent; null: none. */
  readonly lentBy: string | null
  readonly why: string
}

/** What is decided for a night of a list, and what the draws of nights before came to. */
export interface KeptNight {
  readonly list: number
  readonly runDate: string
  readonly longestDays: number
  readonly decisions: readonly KeptDecision[]
  readonly outcomes: readonly DrawOutcome[]
}

/** What a query that was drawn by chance showed. */
export interface DrawOutcome {
  readonly id: string
  readonly runDate: string
  readonly moves: number
  /** Pages in which its answer differed from the one that would have been lent; null: none would have been. */
  readonly differences: number | null
}

/** A query that was drawn by chance, of which nobody has looked yet what it showed. */
export interface OpenDraw {
  readonly id: string
  readonly runDate: string
  readonly lentBy: string | null
}

/** Those of nights before one. */
export async function readOpenDraws(
  db: Database,
  { list, before }: { readonly list: number; readonly before: string },
): Promise<readonly OpenDraw[]> {
  const { rows } = await sql<OpenDraw>`
    select query_id as id, run_date as "runDate", lent_by as "lentBy"
    from cadence_draws
    where list_id = ${list}
      and run_date < ${before}::date
      and moves is null
    order by run_date, query_id`.execute(db)
  return rows
}

/** Keeps what was decided in place of what was decided before; deciding the same night again changes nothing. */
export async function keepNight(db: Database, night: KeptNight): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await keepDecisions(trx, night)
    await keepSums(trx, night)
    await keepLendings(trx, night)
    await keepDraws(trx, night)
    await keepOutcomes(trx, night)
  })
}

async function keepDecisions(trx: Database, { list, runDate, decisions }: KeptNight) {
  await sql`
    with decided as (
      select *
      from unnest(
        ${decisions.map(({ id }) => id)}::uuid[],
        ${decisions.map(({ interval }) => interval)}::integer[],
        ${decisions.map(({ dueOn }) => dueOn)}::date[],
        ${decisions.map(({ byChance }) => byChance)}::boolean[],
        ${decisions.map(({ lentBy }) => lentBy)}::uuid[],
        ${decisions.map(({ why }) => why)}::text[]
      ) as decision (query_id, interval_days, due_on, by_chance, lent_by, why)
    ),
    gone as (
      delete from cadences
      where list_id = ${list}
        and not exists (select from decided where decided.query_id = cadences.query_id)
    )
    insert into cadences (list_id, query_id, decided_on, interval_days, due_on, by_chance, lent_by, why)
    select ${list}::bigint, query_id, ${runDate}::date, interval_days, due_on, by_chance, lent_by, why
    from decided
    order by query_id
    on conflict (list_id, query_id) do update
    set decided_on = excluded.decided_on,
      interval_days = excluded.interval_days,
      due_on = excluded.due_on,
      by_chance = excluded.by_chance,
      lent_by = excluded.lent_by,
      why = excluded.why`.execute(trx)
}

async function keepSums(trx: Database, { list, runDate, longestDays }: KeptNight) {
  await sql`
    insert into cadence_nights
      (list_id, run_date, longest_days, queries, due, by_chance, rested, lent, lent_by_chance, intervals)
    select
      ${list}::bigint, ${runDate}::date, ${longestDays}::integer, count(*),
      count(*) filter (where due_on <= decided_on),
      count(*) filter (where by_chance and lent_by is null),
      count(*) filter (where due_on > decided_on and not by_chance and lent_by is null),
      count(*) filter (where not by_chance and lent_by is not null),
      count(*) filter (where by_chance and lent_by is not null),
      array(
        select (select count(*)::integer from cadences as held where held.list_id = ${list} and held.interval_days = days)
        from generate_series(1, ${longestDays}::integer) as days
        order by days
      )
    from cadences
    where list_id = ${list}
    on conflict (list_id, run_date) do update
    set decided_at = excluded.decided_at,
      longest_days = excluded.longest_days,
      queries = excluded.queries,
      due = excluded.due,
      by_chance = excluded.by_chance,
      rested = excluded.rested,
      lent = excluded.lent,
      lent_by_chance = excluded.lent_by_chance,
      intervals = excluded.intervals`.execute(trx)
}

/** Whose answer stands beside the last one of a query that the night does not ask. */
async function keepLendings(trx: Database, { list, runDate }: KeptNight) {
  await sql`
    delete from lendings
    where list_id = ${list}
      and run_date = ${runDate}::date`.execute(trx)
  await sql`
    insert into lendings (list_id, run_date, query_id, lent_by)
    select list_id, decided_on, query_id, lent_by
    from cadences
    where list_id = ${list}
      and lent_by is not null
      and not by_chance`.execute(trx)
}

async function keepDraws(trx: Database, { list, runDate }: KeptNight) {
  await sql`
    with undone as (
      delete from cadence_draws
      where list_id = ${list}
        and run_date = ${runDate}::date
        and query_id not in (select query_id from cadences where list_id = ${list} and by_chance)
    )
    insert into cadence_draws (list_id, run_date, query_id, lent_by)
    select list_id, decided_on, query_id, lent_by
    from cadences
    where list_id = ${list}
      and by_chance
    on conflict (list_id, run_date, query_id) do update set lent_by = excluded.lent_by`.execute(trx)
}

async function keepOutcomes(trx: Database, { list, outcomes }: KeptNight) {
  await sql`
    update cadence_draws
    set moves = outcome.moves,
      differences = outcome.differences
    from unnest(
      ${outcomes.map(({ id }) => id)}::uuid[],
      ${outcomes.map(({ runDate }) => runDate)}::date[],
      ${outcomes.map(({ moves }) => moves)}::integer[],
      ${outcomes.map(({ differences }) => differences)}::integer[]
    ) as outcome (query_id, run_date, moves, differences)
    where cadence_draws.list_id = ${list}
      and cadence_draws.query_id = outcome.query_id
      and cadence_draws.run_date = outcome.run_date`.execute(trx)
}
