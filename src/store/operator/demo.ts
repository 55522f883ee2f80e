import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** How many rows each table of answers holds. */
export async function countRows(db: Database): Promise<readonly (readonly [string, number])[]> {
  const { rows } = await sql<{ name: string; rows: number }>`
    select 'queries' as name, count(*) as rows from queries
    union all select 'searches', count(*) from searches
    union all select 'organic_results', count(*) from organic_results
    union all select 'pages', count(*) from pages
    union all select 'domains', count(*) from domains
    union all select 'search_entities', count(*) from search_entities
    union all select 'search_clusters', count(*) from search_clusters
    union all select 'search_related_searches', count(*) from search_related_searches`.execute(db)
  return rows.map(({ name, rows: count }) => [name, count] as const)
}

/** The question that the demo asks: written as an analyst would type it. */
export const question = `select d.host, count(distinct s.query_id) as queries, min(o.position) as best
from searches s
join organic_results o on o.search_id = s.id
join domains d on d.id = o.domain_id
where o.position <= 3
group by d.host
order by queries desc, d.host
limit 5`

/** Its answer. */
export async function askQuestion(
  db: Database,
): Promise<readonly { host: string; queries: number; best: number }[]> {
  const { rows } = await sql<{
    host: string
    queries: number
    best: number
  }>`${sql.raw(question)}`.execute(db)
  return rows
}

/** True when the tables hold an answer that was paid for with real credits. */
export async function hasLiveAnswers(db: Database): Promise<boolean> {
  const { rows } = await sql<{ live: boolean }>`
    select exists (select from searches where origin = 'live') as live`.execute(db)
  return rows[0]?.live ?? false
}

/** What is seen in a database in which a list is bought anew each night; nothing of that stays. */
export async function imagineSchedule<T>(
  db: Database,
  { list, zone }: { readonly list: string; readonly zone: string },
  look: (seen: Database) => Promise<T>,
): Promise<T> {
  const trx = await db.startTransaction().execute()
  try {
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at, max_age_ms)
      values ('each night', ${list}, '0 2 * * *', ${zone}, 'latest', 'skip', true, now(), now(), 0)`.execute(
      trx,
    )
    return await look(trx)
  } finally {
    await trx.rollback().execute()
  }
}
