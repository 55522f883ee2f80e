import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { statement } from '../statement.ts'

/** Something that happened and that no webhook has been sent for. */
export type News =
  | {
      readonly kind: 'run_finished'
      readonly subject: string
      readonly run: number
      readonly list: string
      readonly run_date: string
      readonly state: string
      readonly spent: number
      readonly tasks: Readonly<Record<string, number>>
    }
  | {
      readonly kind: 'stop'
      readonly subject: string
      readonly account: string
      readonly reason: string
      readonly detail: string | null
      readonly until: string | null
    }
  | {
      readonly kind: 'night_missed' | 'night_skipped' | 'night_late' | 'night_failed'
      readonly subject: string
      readonly schedule: string
      readonly due_at: string
      readonly run_date: string
      readonly run: number | null
      readonly note: string | null
    }

/**
 * Takes what happened since a time and was not sent yet, oldest first: of several processes that ask, each piece goes
 * to one.
 */
export async function takeNews(db: Database, since: Date): Promise<readonly News[]> {
  const { rows } = await db.executeQuery(statement<{ fields: News }>('take_news', [since]))
  return rows.map(({ fields }) => fields)
}

/** Takes one piece of news that does not come from the tables; false when it was taken before. */
export async function takeNotice(db: Database, kind: string, subject: string): Promise<boolean> {
  const { rows } = await sql`
    insert into notices (kind, subject)
    values (${kind}, ${subject})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length > 0
}

/** Gives back news that could not be sent: the next process that asks gets it. */
export async function giveBack(
  db: Database,
  news: readonly { readonly kind: string; readonly subject: string }[],
): Promise<void> {
  await sql`
    delete from notices
    using unnest(
      ${news.map(({ kind }) => kind)}::text[],
      ${news.map(({ subject }) => subject)}::text[]
    ) as back (kind, subject)
    where notices.kind = back.kind
      and notices.subject = back.subject`.execute(db)
}
