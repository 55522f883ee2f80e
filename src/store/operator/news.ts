import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { statement } from '../statement.ts'

/** An alert as it is told, with both answers. */
export interface ToldAlert {
  readonly id: number
  readonly text: string
  readonly question: string
  readonly list: string | null
  readonly tag: string | null
  readonly query_id: string | null
  readonly q: string | null
  readonly domain: string | null
  readonly other_domain: string | null
  readonly feature: string | null
  readonly direction: string | null
  readonly origin: string
  readonly run: number
  readonly previous_position: number | null
  readonly position: number | null
  readonly previous_share: number | null
  readonly share: number | null
  readonly base_search_id: number | null
  readonly search_id: number | null
  readonly base_run_date: string
  readonly run_date: string
}

/** The end of an alert, with the answer that shows it. */
export interface ToldRecovery extends Pick<
  ToldAlert,
  'id' | 'text' | 'question' | 'origin' | 'search_id' | 'position' | 'share'
> {
  readonly run_date: string | null
}

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
      readonly kind: 'run_suspect' | 'run_odd'
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
  | {
      readonly kind: 'rank_alert'
      readonly subject: string
      readonly at: string
      /** The rule. */
      readonly alert: string
      readonly what: string
      /** How many it found in one look; the first twenty are told. */
      readonly found: number
      readonly alerts: readonly ToldAlert[]
    }
  | {
      readonly kind: 'rank_recovered'
      readonly subject: string
      readonly at: string
      readonly alert: string
      readonly what: string
      readonly found: number
      /** Why they were taken back; null: answers show that they are over. */
      readonly because: string | null
      readonly alerts: readonly ToldRecovery[]
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
