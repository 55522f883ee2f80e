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
  const lists = db.selectFrom('lists').select('name').where('forgotten_at', 'is', null)
  const rows = await lists.orderBy('name').execute()
  expectName('list', list, rows)
}

export async function expectTag(db: Database, tag: string): Promise<void> {
  const tags = db
    .selectFrom('list_queries')
    .select(({ fn }) => fn<string>('unnest', ['tags']).as('name'))
  expectName('tag', tag, await tags.distinct().orderBy('name').execute())
}

function expectName(kind: 'list' | 'tag', name: string, rows: readonly { name: string }[]): void {
  const names = rows.map((row) => row.name)
  if (names.includes(name)) return
  const meaning = kind === 'list' ? 'the name of a list' : 'a tag of a list'
  throw new Misuse(
    `expected --${kind} to be ${meaning}, got ${JSON.stringify(name)}; existing ${kind}s: ${firstNames(names)}`,
  )
}
