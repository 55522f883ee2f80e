import type { Database } from '../database.ts'
import { sql, type RawBuilder } from '../kysely.ts'
import type { Gone } from './gone.ts'

const facts = {
  organic_results: sql`search_id in (select id from answers)`,
  search_entities: sql`search_id in (select id from answers)`,
  search_clusters: sql`search_id in (select id from answers)`,
  search_related_searches: sql`search_id in (select id from answers)`,
  search_features: sql`search_id in (select id from answers)`,
  raw_answers: sql`call_id in (select id from paid)`,
}

const ofQueries = ['queries', 'searches', 'tasks', 'calls', 'expansions'] as const

/** How many rows would go with queries, by table; of what their answers name, all that others may name as well. */
export async function countQueries(
  db: Database,
  queries: RawBuilder<{ query_id: string }>,
): Promise<Gone> {
  const own = ofQueries.map((table) => {
    const key = table === 'queries' ? 'id' : 'query_id'
    return sql`
      select ${table} as name, count(*) as rows
      from ${sql.table(table)}
      where ${sql.ref(key)} in (select query_id from gone)`
  })
  const told = Object.entries(facts).map(
    ([table, where]) => sql`select ${table}, count(*) from ${sql.table(table)} where ${where}`,
  )
  const { rows } = await sql<{ name: string; rows: number }>`
    with gone as materialized (${queries}),
    answers as materialized (
      select id from searches where query_id in (select query_id from gone)
    ),
    paid as materialized (
      select id from calls where query_id in (select query_id from gone)
    )
    ${sql.join([...own, ...told], sql` union all `)}`.execute(db)
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

/** Rows of lists about queries. */
const sayings = ['list_queries', 'list_query_history', 'cadences', 'cadence_draws'] as const

/** What a list says of its queries, or all lists of some queries. */
export async function countSayings(db: Database, where: RawBuilder<boolean>): Promise<Gone> {
  const own = sayings.map(
    (table) =>
      sql`select ${table} as name, count(*) as rows from ${sql.table(table)} where ${where}`,
  )
  const { rows } = await sql<{ name: string; rows: number }>`
    ${sql.join(own, sql` union all `)}`.execute(db)
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}
