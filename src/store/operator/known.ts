import { firstNames } from '../../shared/terminal/wording.ts'
import { Misuse } from '../../shared/errors.ts'
import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

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
