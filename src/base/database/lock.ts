// Takes advisory locks that are identified by strings.

import type { Database } from './database.ts'
import { type Expression, expressionBuilder } from './kysely.ts'
import type { DB } from './schema.ts'

export function lockKey(name: Expression<string>) {
  const eb = expressionBuilder<DB>()
  return eb.fn<number>('hashtextextended', [name, eb.lit(0)])
}

/** Waits for the lock with this name. The transaction holds the lock until it ends. */
export async function lockName(trx: Database, name: string): Promise<void> {
  await trx
    .selectNoFrom((eb) => eb.fn('pg_advisory_xact_lock', [lockKey(eb.val(name))]).as('locked'))
    .execute()
}

export function lockList(trx: Database, list: string): Promise<void> {
  return lockName(trx, `querymill list ${list}`)
}
