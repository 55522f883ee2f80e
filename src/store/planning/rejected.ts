import { sql, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import { rejectedName } from './staged-tables.ts'
import type { Planned } from './order.ts'
import type { DB } from '../schema.ts'

/** A run keeps the rejected lines of the newest reading of its list. */
export async function storeRejections(
  trx: Transaction<DB>,
  stage: number,
  run: number,
): Promise<Planned['reasons']> {
  const rejected = rejectedName(stage)
  await trx.deleteFrom('rejected_lines').where('run_id', '=', run).execute()
  await sql`
    insert into rejected_lines (run_id, line, reason, content)
    select ${run}::bigint, line, reason, content
    from ${rejected}
    order by line`.execute(trx)
  return countRejections(trx, stage)
}

/** The reasons of a stage, each with its lines. */
export async function countRejections(
  trx: Transaction<DB>,
  stage: number,
): Promise<Planned['reasons']> {
  const { rows } = await sql<{ reason: string; lines: number }>`
    select reason, count(*) as lines
    from ${rejectedName(stage)}
    group by reason
    order by count(*) desc, reason`.execute(trx)
  return rows
}

/** The rejected lines of a run, page by page, in the order of the file. */
export async function* rejectedLines(
  db: Database,
  run: number,
): AsyncGenerator<readonly { line: number; reason: string; content: string }[]> {
  const size = 2000
  for (let offset = 0; ; offset += size) {
    const rows = await db
      .selectFrom('rejected_lines')
      .select(['line', 'reason', 'content'])
      .where('run_id', '=', run)
      .orderBy('line')
      .orderBy('reason')
      .limit(size)
      .offset(offset)
      .execute()
    if (rows.length === 0) return
    yield rows
  }
}
