import { basename, dirname } from 'node:path'
import { Misuse } from '../../shared/errors.ts'
import type { Kysely, Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import type { PlanOrder } from './order.ts'

/** The list of a name, made if there is none; its source and how it is read are kept for the next time. */
export async function storeList(
  trx: Transaction<DB>,
  { list, source, reading }: Pick<PlanOrder, 'list' | 'source' | 'reading'>,
): Promise<number> {
  const agreed = reading === null || reading === undefined ? null : JSON.stringify(reading)
  await trx
    .insertInto('lists')
    .values({ name: list, source: source ?? '', reading: agreed })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const change = {
    ...(source === null ? {} : { source }),
    ...(reading === undefined ? {} : { reading: agreed }),
  }
  if (Object.keys(change).length > 0) {
    await trx.updateTable('lists').set(change).where('name', '=', list).execute()
  }
  const { id } = await trx
    .selectFrom('lists')
    .select('id')
    .where('name', '=', list)
    .executeTakeFirstOrThrow()
  return id
}

/** Exports of several sites bear one name: two of them become one list only when that is meant. */
export async function refuseOtherSource(
  db: Kysely<DB>,
  { list, source, join }: Pick<PlanOrder, 'list' | 'source' | 'join'>,
): Promise<void> {
  if (join || source === null) return
  const known = await knownList(db, list)
  if (known === undefined || known.source === '' || known.source === source) return
  const folder = basename(dirname(source))
  const name = folder === '' || folder === '.' ? `${list} 2` : `${folder} ${list}`
  throw new Misuse(
    `expected a name that is free for ${source}, got ${JSON.stringify(list)}, the list of ${known.source}; type --as ${JSON.stringify(name)} for a list of its own, or --join to read both into one`,
  )
}

/** What is known of the list of a name; undefined for one that is new. */
export async function knownList(
  db: Kysely<DB>,
  name: string,
): Promise<
  { readonly id: number; readonly source: string; readonly reading: unknown } | undefined
> {
  return db
    .selectFrom('lists')
    .select(['id', 'source', 'reading'])
    .where('name', '=', name)
    .executeTakeFirst()
}
