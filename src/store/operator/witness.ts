import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** A task and its state, to be compared with the API's own books. */
export interface TaskWitness {
  readonly q: string
  readonly state: string
  readonly ambiguous: number
}

/** What the tables say about money and answers, as sums. */
export interface Sums {
  readonly used: number
  readonly held: number
  readonly in_flight: number
  readonly unsent: number
  readonly calls: number
  readonly received: number
  readonly without_body: number
  readonly miscounted: number
}

export async function witnessTasks(db: Database): Promise<readonly TaskWitness[]> {
  const { rows } = await sql<TaskWitness>`
    select q.q, t.state, t.ambiguous
    from tasks t
    join queries q on q.id = t.query_id`.execute(db)
  return rows
}

/** Sums over the ledger and the answers, counted anew from the raw bodies where rows came from them. */
export async function witnessSums(db: Database): Promise<Sums> {
  const { rows } = await sql<Sums>`
    select
      coalesce(sum(c.credits_used) filter (where c.outcome = 'settled'), 0)::float8 as used,
      coalesce(sum(c.credits_reserved) filter (where c.outcome = 'unknown'), 0)::float8 as held,
      count(*) filter (where c.outcome is null)::integer as in_flight,
      count(*) filter (where c.outcome = 'unsent')::integer as unsent,
      count(*)::integer as calls,
      count(*) filter (where s.id is not null)::integer as received,
      count(*) filter (where s.id is not null and r.call_id is null)::integer as without_body,
      count(*) filter (
        where s.parse_error is null
          and s.id is not null
          and jsonb_array_length(convert_from(r.body, 'UTF8')::jsonb -> 'organic_results')
            <> (select count(*) from organic_results o where o.search_id = s.id)
      )::integer as miscounted
    from calls c
    left join searches s on s.call_id = c.id
    left join raw_answers r on r.call_id = c.id`.execute(db)
  const sums = rows[0]
  if (sums === undefined) throw new Error('expected sums, got none')
  return sums
}

/** Counts tasks whose state is open, whatever the state of their run and slice. */
export async function countUnfinishedTasks(db: Database): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::integer as open from tasks where state = 'open'`.execute(db)
  return rows[0]?.open ?? 0
}
