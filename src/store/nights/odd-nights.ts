// Runs that turned out suspect or odd, for metrics and for people.
import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** Lists with runs that were judged in the last seven days: how many are suspect, and whether the newest is. */
export async function countSuspects(
  db: Database,
): Promise<readonly { readonly list: string; readonly nights: number; readonly last: boolean }[]> {
  const { rows } = await sql<{ list: string; nights: number; last: boolean }>`
    select
      lists.name as list,
      count(*) filter (where runs.suspect) as nights,
      (array_agg(runs.suspect order by runs.run_date desc, runs.id desc))[1] as last
    from runs
    join lists on lists.id = runs.list_id
    where runs.state in ('done', 'cancelled')
      and runs.finished_at > clock_timestamp() - interval '7 days'
    group by lists.name
    order by lists.name`.execute(db)
  return rows
}

/** A run about which something is odd, with all that is odd in one line. */
export interface OddNight {
  readonly run_date: string
  readonly run: number
  readonly suspect: boolean
  readonly why: string
}

/** The odd runs of a list, the oldest first: those that are left out, and those that are shown all the same. */
export async function listOddNights(db: Database, list: string): Promise<readonly OddNight[]> {
  const { rows } = await sql<OddNight>`
    select
      runs.run_date::text as run_date, runs.id as run, runs.suspect,
      array_to_string(health.reasons || health.remarks, '; ') as why
    from night_health as health
    join runs on runs.id = health.run_id
    join lists on lists.id = runs.list_id
    where lists.name = ${list}
      and cardinality(health.reasons || health.remarks) > 0
    order by runs.run_date, runs.id`.execute(db)
  return rows
}
