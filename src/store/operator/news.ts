import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { statement } from '../statement.ts'

/** Something that happened and that no webhook has been sent for. */
export type News =
  | {
      readonly kind: 'run_finished'
      readonly subject: string
      readonly at: string
      readonly run: number
      readonly list: string
      readonly run_date: string
      readonly state: string
      readonly spent: number
      readonly tasks: Readonly<Record<string, number>>
    }
  | {
      readonly kind: 'run_suspect'
      readonly subject: string
      readonly at: string
      readonly run: number
      readonly list: string
      readonly run_date: string
      readonly reasons: readonly string[]
    }
  | {
      readonly kind: 'stop'
      readonly subject: string
      readonly at: string
      readonly account: string
      readonly reason: string
      readonly detail: string | null
      readonly until: string | null
    }
  | {
      readonly kind: 'night_missed' | 'night_skipped' | 'night_late' | 'night_failed'
      readonly subject: string
      readonly at: string
      readonly schedule: string
      readonly due_at: string
      readonly run_date: string
      readonly run: number | null
      readonly note: string | null
    }

/**
 * Notes what happened since a time and was not noted yet, oldest first: of several processes that ask, each piece goes to
 * one. What is not of these kinds is left alone.
 */
export async function takeNews(
  db: Database,
  since: Date,
  kinds: readonly string[],
): Promise<readonly News[]> {
  const { rows } = await db.executeQuery(statement<{ fields: News }>('take_news', [since, kinds]))
  return rows.map(({ fields }) => fields)
}

/** Notes one piece of news that does not come from the tables; false when it was noted before. */
export async function takeNotice(db: Database, kind: string, subject: string): Promise<boolean> {
  const { rows } = await sql`
    insert into notices (kind, subject)
    values (${kind}, ${subject})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length > 0
}
