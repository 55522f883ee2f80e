import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { statement } from '../statement.ts'

/** Fields that answers of one run carry, and none of its API did before. */
export interface NewFields {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly api: string
  /** With how many answers each came. */
  readonly found: readonly {
    readonly place: 'answer' | 'result'
    readonly field: string
    readonly answers: number
  }[]
}

/**
 * Looks through the answers of runs that finished since a time, each run once, and gives the fields that the API never
 * sent before. Of an API whose first answers these are nothing is new.
 */
export async function takeNewFields(db: Database, since: Date): Promise<readonly NewFields[]> {
  const { rows } = await sql<{ id: number }>`
    update runs
    set fields_read_at = clock_timestamp()
    where id in (
      select id
      from runs
      where state in ('done', 'cancelled')
        and finished_at > ${since}
        and fields_read_at is null
      order by id
      for update skip locked
    )
    returning id`.execute(db)
  const found: NewFields[] = []
  for (const { id } of rows.toSorted((a, b) => a.id - b.id)) {
    const read = await db.executeQuery(statement<NewFields>('take_fields', [id]))
    found.push(...read.rows)
  }
  return found
}
