import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { only } from '../statement.ts'

const books = ['accounts', 'calls', 'nights', 'night_health', 'schedules', 'workers']

/**
 * True: who reads may read the mill's own bookkeeping, which an analyst's login is kept from. To be asked before reading:
 * a refused read would end the transaction, and the page with it.
 */
export async function mayReadBooks(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select bool_and(has_table_privilege('public.' || name, 'select')) as may
    from unnest(${books}::text[]) as book (name)
  `.execute(trx)
  return only(rows).may
}
