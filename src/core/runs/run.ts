import { firstNames } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { Misuse } from '../../base/errors.ts'
import { usualNights } from '../nights/health.ts'
import type { TaskState } from './status.ts'

/** One run with what it was to do and what it came to. */
export interface RunFacts {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly kind: string
  readonly state: string
  readonly schedule: string | null
  readonly due_at: Date | null
  readonly outcome: string | null
  readonly note: string | null
  readonly created_at: Date
  readonly finished_at: Date | null
  readonly budget: number | null
  readonly spent: number
  readonly max_age_ms: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly suspect: boolean
  readonly reasons: readonly string[]
  /** What is odd about it and hides nothing. */
  readonly remarks: readonly string[]
  readonly asked: number | null
  /** Of these, queries with a readable answer. */
  readonly answered: number | null
  readonly price: number | null
  readonly depth: number | null
  readonly empty: number | null
  readonly unreadable: number | null
  readonly workers: number | null
  /** What an answer cost in the nights that show what is usual for the list; null without any. */
  readonly usual_price: number | null
  readonly previous: number | null
  readonly next: number | null
}

/** Tasks of a run in one state, with the word for what went wrong. */
export interface TaskCount {
  readonly state: TaskState
  readonly error: string | null
  readonly example: string | null
  readonly tasks: number
}

/** A place that one of our domains, or any where we have none, won or lost in a run. */
export interface RunMove {
  readonly query_id: string
  readonly q: string
  readonly domain: string
  readonly previous: number | null
  /** The day of the answer before. */
  readonly previous_date: string
  readonly position: number | null
  readonly change: string
  readonly page: string | null
}

/** The facts of a run; null: there is none of that number. */
export async function readRunFacts(db: Database, run: number): Promise<RunFacts | null> {
  const { rows } = await sql<RunFacts>`
    select
      r.id as run, l.name as list, r.run_date, r.kind, r.state, r.created_at, r.finished_at, r.budget, r.spent,
      r.max_age_ms, r.accepted, r.duplicates, r.rejected, r.suspect, n.schedule, n.due_at, n.outcome, n.note,
      coalesce(h.reasons, '{}') as reasons, coalesce(h.remarks, '{}') as remarks, h.asked, h.answered, h.price, h.depth, h.empty, h.unreadable, h.workers,
      (
        select avg(before.price)::float8
        from (${usualNights(sql`r.list_id`, sql`r.id`)}) before
      ) as usual_price,
      (select max(o.id) from runs o where o.list_id = r.list_id and o.id < r.id) as previous,
      (select min(o.id) from runs o where o.list_id = r.list_id and o.id > r.id) as next
    from runs r
    join lists l on l.id = r.list_id
    left join night_health h on h.run_id = r.id
    left join lateral (
      select schedule, due_at, outcome, note from nights where run_id = r.id order by due_at desc limit 1
    ) n on true
    where r.id = ${run}`.execute(db)
  return rows[0] ?? null
}

/** Tasks by state and error, the most frequent first. */
export async function countTasks(db: Database, run: number): Promise<readonly TaskCount[]> {
  const { rows } = await sql<TaskCount>`
    select state, error_code as error, min(error_message) as example, count(*) as tasks
    from tasks
    where run_id = ${run}
    group by state, error_code
    order by tasks desc, state, error_code`.execute(db)
  return rows
}

/** The greatest moves between the answers of a run and those before them. */
export async function readRunMoves(
  db: Database,
  { run, run_date: date }: Pick<RunFacts, 'run' | 'run_date'>,
): Promise<readonly RunMove[]> {
  const { rows } = await sql<RunMove>`
    with ours as materialized (
      select distinct domain
      from analysis.ours_on(${date}::date)
    )
    select
      m.query_id, m.q, m.domain, m.previous_position as previous, m.previous_run_date as previous_date,
      m.position, m.change,
      coalesce(m.url_key, m.previous_url_key) as page
    from analysis.movers_on(${date}::date) m
    where m.change <> 'same'
      and m.query_id in (select query_id from tasks where run_id = ${run})
      and (m.domain in (select domain from ours) or not exists (select from ours))
    order by m.places desc, m.q, m.domain
    limit 25`.execute(db)
  return rows
}

/** Refuses a number that no run has: a slip of the hand must not look like a run with nothing to do. */
export async function expectRun(db: Database, run: number): Promise<void> {
  const found = await db.selectFrom('runs').select('id').where('id', '=', run).executeTakeFirst()
  if (found !== undefined) return
  throw new Misuse(
    `expected --run to be the number of a run, got ${run}, which no run has; npm run status shows them`,
  )
}

/** Refuses a name that no list has. */
export async function expectList(db: Database, list: string): Promise<void> {
  const lists = await db
    .selectFrom('lists')
    .select('name')
    .where('forgotten_at', 'is', null)
    .orderBy('name')
    .execute()
  const names = lists.map(({ name }) => name)
  if (names.includes(list)) return
  throw new Misuse(
    `expected --list to be the name of a list, got ${JSON.stringify(list)}; lists so far: ${firstNames(names)}`,
  )
}

/** Refuses a label that no query of any list has. */
export async function expectTag(db: Database, tag: string): Promise<void> {
  const { rows } = await sql<{ tag: string }>`
    select distinct tag from list_queries, unnest(tags) as tag order by tag`.execute(db)
  const tags = rows.map((row) => row.tag)
  if (tags.includes(tag)) return
  throw new Misuse(
    `expected --tag to be a label of a list, got ${JSON.stringify(tag)}; labels so far: ${firstNames(tags)}`,
  )
}
