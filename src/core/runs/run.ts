// Rejects unknown runs, lists and tags.

import { npmRun } from '../../base/cli/commands.ts'
import { firstNames } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { Misuse } from '../../base/errors.ts'

/** Rejects an unknown run id, because a typo must not look like a run without open tasks. */
export async function expectRun(db: Database, run: number): Promise<void> {
  const found = await db.selectFrom('runs').select('id').where('id', '=', run).executeTakeFirst()
  if (found !== undefined) return
  throw new Misuse(
    `expected --run to be the number of an existing run, got ${run}; ${npmRun('status')} lists the runs`,
  )
}

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
    `expected --list to be the name of a list, got ${JSON.stringify(list)}; existing lists: ${firstNames(names)}`,
  )
}

export async function expectTag(db: Database, tag: string): Promise<void> {
  const rows = await db
    .selectFrom('list_queries')
    .select(({ fn }) => fn<string>('unnest', ['tags']).as('tag'))
    .distinct()
    .orderBy('tag')
    .execute()
  const tags = rows.map((row) => row.tag)
  if (tags.includes(tag)) return
  throw new Misuse(
    `expected --tag to be a tag of a list, got ${JSON.stringify(tag)}; existing tags: ${firstNames(tags)}`,
  )
}
