// await takeNews(mill.db, ['run_suspect']) → the notices about events that were not recorded before, oldest first.
import { sql } from 'kysely'
import type { Database } from '../../src/base/database/database.ts'
import { recordNews } from '../../src/features/notifications/news.ts'

export async function takeNews(db: Database, kinds: readonly string[]) {
  const known = await db.selectFrom('notices').select('id').execute()
  await recordNews(db, new Date(0), kinds)
  return db
    .selectFrom('notices')
    .select((eb) => [
      'kind',
      'said as text',
      eb.ref('fields').$castTo<Record<string, unknown>>().as('fields'),
    ])
    .where((eb) => eb.not(eb('id', '=', eb.fn.any(eb.val(known.map(({ id }) => id))))))
    .orderBy(sql`(fields ->> 'at')::timestamptz`)
    .execute()
}
