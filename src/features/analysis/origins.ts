// Chooses the answer origins that the analysis includes.
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { Misuse } from '../../base/errors.ts'

const origins = ['live', 'test', 'sandbox'] as const

/** Validates typed origins, and returns them in the setting's format. */
export function readOrigins(typed: string): string {
  const named = typed
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const unknown = named.find((word) => !origins.some((origin) => origin === word))
  if (unknown === undefined && named.length > 0) return named.join(',')
  throw new Misuse(
    `expected --origins to name one or more of ${origins.join(', ')}, got ${JSON.stringify(typed)}`,
  )
}

/** Returns the stored answers' origins if the views show none of these answers, or null otherwise. */
async function hiddenOrigins(db: Database, asked: string | undefined): Promise<string | null> {
  type Found = { readonly shown: boolean; readonly there: string | null }
  const parameters = { asked: asked ?? null }
  const [found] = await readRows<Found>(db, 'read_hidden_origins', parameters)
  return found === undefined || found.shown ? null : found.there
}

/** Returns a hint if the database has answers but the views show none of them, or null otherwise. */
export async function hintOrigins(db: Database, asked: string | undefined): Promise<string | null> {
  const there = await hiddenOrigins(db, asked)
  if (there === null) return null
  return `the views show only live answers, but there are none; to see other answers, use --origins ${there}`
}

/**
 * Returns a reader's default origins. If an embedded database has no live answers, the origins of its answers are used.
 * For a configured database, the user chooses the origins.
 */
export async function firstOrigins(
  db: Database,
  {
    databaseUrl,
    report,
  }: { readonly databaseUrl: string | null; readonly report: (line: string) => void },
): Promise<string | undefined> {
  const there = databaseUrl === null ? await hiddenOrigins(db, undefined) : null
  if (there === null) return undefined
  report(
    `there are no live answers yet, so the answers shown are from the ${there.replace(',', ' and ')}`,
  )
  return there
}

/** Changes the default origins for the views in this database, for demonstrations. */
export async function setOrigins(db: Database, shown: string): Promise<void> {
  const { name } = await db
    .selectNoFrom(({ fn }) => fn<string>('current_database').as('name'))
    .executeTakeFirstOrThrow()
  await sql`alter database ${sql.id(name)} set querymill.origins = ${sql.lit(shown)}`.execute(db)
}
