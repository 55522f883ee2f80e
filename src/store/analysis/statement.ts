import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** What a statement is asked for. */
export interface StatementOrder {
  /** Null: all accounts. */
  readonly account: string | null
  /** The first and the day after the last, as dates; null: no end on that side. */
  readonly since: string | null
  readonly until: string | null
  /** The zone in which days begin. */
  readonly zone: string
}

/** What the sums are told by. */
export type Grouping = 'day' | 'list' | 'run'

/** The changes of a balance in one group: `opening` and `closing` where the group is a stretch of time. */
export interface StatementRow {
  readonly account: string
  readonly origin: string
  readonly group: string
  readonly opening: number
  readonly ours: number
  readonly perhaps_ours: number
  readonly others: number
  readonly top_up: number
  readonly closing: number
}

/** A change that no call of ours explains, or only perhaps. */
export interface StatementEvent {
  readonly account: string
  readonly after: Date | null
  readonly at: Date
  readonly kind: 'perhaps_ours' | 'others' | 'top_up'
  readonly credits: number
  readonly balance: number
  readonly call_id: number
  readonly run_id: number | null
}

/** The balance changes of each group, the oldest first. */
export async function readStatement(
  db: Database,
  order: StatementOrder,
  by: Grouping,
): Promise<readonly StatementRow[]> {
  const { rows } = await sql<StatementRow>`
    select
      account,
      origin,
      case ${by}::text
        when 'day' then to_char(at at time zone ${order.zone}::text, 'YYYY-MM-DD')
        when 'list' then coalesce(list, '')
        else coalesce(run_id::text, '')
      end as "group",
      (array_agg(balance - case kind when 'opening' then 0 else credits end order by line))[1]::float8 as opening,
      coalesce(sum(credits) filter (where kind = 'ours'), 0)::float8 as ours,
      coalesce(sum(credits) filter (where kind = 'perhaps_ours'), 0)::float8 as perhaps_ours,
      coalesce(sum(credits) filter (where kind = 'others'), 0)::float8 as others,
      coalesce(sum(credits) filter (where kind = 'top_up'), 0)::float8 as top_up,
      (array_agg(balance order by line desc))[1]::float8 as closing
    from analysis.statement
    where ${chosen(order)}
    group by account, origin, 3
    order by account, origin, min(line)`.execute(db)
  return rows
}

/** Each change by itself that no call of ours explains, or only perhaps: the oldest first. */
export async function readEvents(
  db: Database,
  order: StatementOrder,
): Promise<readonly StatementEvent[]> {
  const { rows } = await sql<StatementEvent>`
    select account, after, at, kind, credits::float8 as credits, balance::float8 as balance, call_id, run_id
    from analysis.statement
    where ${chosen(order)}
      and kind in ('perhaps_ours', 'others', 'top_up')
    order by account, line`.execute(db)
  return rows
}

function chosen({ account, since, until, zone }: StatementOrder) {
  return sql`(${account}::text is null or account = ${account}::text)
    and (${since}::date is null or at >= ${since}::date::timestamp at time zone ${zone}::text)
    and (${until}::date is null or at < ${until}::date::timestamp at time zone ${zone}::text)`
}
