import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { ToldAlert } from './news.ts'

/** An alert with its evidence, as it stands. */
export interface AlertRow extends ToldAlert {
  readonly alert: string
  readonly what: string
  readonly state: 'standing' | 'recovered' | 'withdrawn'
  readonly direction: 'up' | 'down' | null
  readonly raised_at: Date
  readonly recovered_run_date: string | null
  readonly recovered_search_id: number | null
  readonly recovered_position: number | null
  readonly recovered_share: number | null
  readonly recovered_at: Date | null
  readonly withdrawn_at: Date | null
  readonly withdrawn_because: string | null
}

/** Which alerts are wanted; null: whichever. */
export interface AlertFilter {
  readonly id: number | null
  readonly rule: string | null
  readonly standing: boolean
  readonly limit: number
}

/** The newest alerts first. */
export async function listAlerts(
  db: Database,
  { id, rule, standing, limit }: AlertFilter,
): Promise<readonly AlertRow[]> {
  const { rows } = await sql<AlertRow>`
    select
      alerts.id, alerts.rule as alert, alerts.what,
      case
        when withdrawn_at is not null then 'withdrawn'
        when recovered_at is not null then 'recovered'
        else 'standing'
      end as state,
      alerts.said as text, alerts.question, alerts.list, alerts.tag, alerts.query_id,
      (select queries.q from queries where queries.id = alerts.query_id) as q,
      alerts.domain, alerts.other_domain, alerts.feature, alerts.direction, alerts.origin,
      alerts.previous_position, alerts.position, alerts.previous_share, alerts.share,
      alerts.base_search_id, alerts.search_id, alerts.base_run_date, alerts.run_date, alerts.run_id as run,
      alerts.raised_at, alerts.recovered_run_date, alerts.recovered_search_id, alerts.recovered_position,
      alerts.recovered_share, alerts.recovered_at, alerts.withdrawn_at, alerts.withdrawn_because
    from alerts
    where (${id}::bigint is null or alerts.id = ${id}::bigint)
      and (${rule}::text is null or alerts.rule = ${rule}::text)
      and (not ${standing}::boolean or (recovered_at is null and withdrawn_at is null))
    order by alerts.id desc
    limit ${limit}`.execute(db)
  return rows
}
