import { sql } from '../kysely.ts'
import { Misuse } from '../../shared/errors.ts'
import type { Database } from '../database.ts'

const origins = ['live', 'test', 'sandbox'] as const

/** Checks the kinds of answers that a person asked for; gives them as the setting wants them. */
export function readOrigins(typed: string): string {
  const named = typed
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const unknown = named.find((word) => !origins.some((origin) => origin === word))
  if (unknown === undefined && named.length > 0) return named.join(',')
  throw new Misuse(
    `expected --origins to name some of ${origins.join(', ')}, got ${JSON.stringify(typed)}`,
  )
}

/** A hint for the reader when the tables hold answers, but none of a kind that the views show; else null. */
export async function hintOrigins(db: Database, asked: string | undefined): Promise<string | null> {
  const { rows } = await sql<{ shown: boolean; there: string | null }>`
    select
      exists (select from searches where origin = any (shown.origins)) as shown,
      (select string_agg(distinct origin, ',') from searches) as there
    from (
      select string_to_array(coalesce(${asked ?? null}::text, array_to_string(analysis.origins(), ',')), ',') as origins
    ) as shown
  `.execute(db)
  const [found] = rows
  if (found === undefined || found.shown || found.there === null) return null
  return `the views show live answers, and there are none; to see the others: --origins ${found.there}`
}

/** Makes the views of this database show more kinds of answers by themselves: for demonstrations. */
export async function setOrigins(db: Database, shown: string): Promise<void> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  const name = rows[0]?.name ?? ''
  await sql`alter database ${sql.id(name)} set querymill.origins = ${sql.lit(shown)}`.execute(db)
}
