// Reads an account's statement: every change in its balance. Final lines are stored, so that reading stays fast.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only, statement } from '../../base/database/sql-file.ts'
import { codeOf } from '../../base/errors.ts'

interface StatementOrder {
  readonly account: string | null
  /** First day, and the day after the last day; null for no limit. */
  readonly since: string | null
  readonly until: string | null
  readonly zone: string
}

type Grouping = 'day' | 'list' | 'run'

/** Sums of the balance changes in one group. `opening` and `closing` are set only for periods. */
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

/** A balance change that may have a cause other than our calls. */
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

/** An event in a JSON document, where timestamps are strings. */
type WrittenEvent = Omit<StatementEvent, 'after' | 'at'> & {
  readonly after: string | null
  readonly at: string
}

const unexplained = sql<boolean>`kind in ('perhaps_ours', 'others', 'top_up')`

/** Reads sums and events, oldest first. A single SQL statement reads both, because both need all paid calls. */
export async function readStatement(db: Database, order: StatementOrder, by: Grouping) {
  const { rows } = await sql<{
    sums: readonly StatementRow[]
    events: readonly WrittenEvent[]
  }>`
    with told as materialized (
      select account, origin, list, run_id, call_id, after, at, kind, credits, balance, line
      from analysis.statement
      where ${chosen(order)}
    ),
    grouped as (
      select
        account, origin, ${groupOf(order, by)} as name,
        (array_agg(balance - case kind when 'opening' then 0 else credits end order by line))[1] as opening,
        coalesce(sum(credits) filter (where kind = 'ours'), 0) as ours,
        coalesce(sum(credits) filter (where kind = 'perhaps_ours'), 0) as perhaps_ours,
        coalesce(sum(credits) filter (where kind = 'others'), 0) as others,
        coalesce(sum(credits) filter (where kind = 'top_up'), 0) as top_up,
        (array_agg(balance order by line desc))[1] as closing,
        min(line) as first
      from told
      group by account, origin, 3
    )
    select
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'account', account, 'origin', origin, 'group', name, 'opening', opening, 'ours', ours,
          'perhaps_ours', perhaps_ours, 'others', others, 'top_up', top_up, 'closing', closing
        ) order by account, origin, first), '[]'::jsonb)
        from grouped
      ) as sums,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'account', account, 'after', after, 'at', at, 'kind', kind, 'credits', credits, 'balance', balance,
          'call_id', call_id, 'run_id', run_id
        ) order by account, line), '[]'::jsonb)
        from told
        where ${unexplained}
      ) as events`.execute(db)
  const { sums, events } = only(rows)
  return { sums, events: events.map(readWritten) }
}

function groupOf({ zone }: StatementOrder, by: Grouping) {
  return sql`case ${by}::text
    when 'day' then to_char(at at time zone ${zone}::text, 'YYYY-MM-DD')
    when 'list' then coalesce(list, '')
    else coalesce(run_id::text, '')
  end`
}

function readWritten({ after, at, ...event }: WrittenEvent): StatementEvent {
  return { ...event, after: after === null ? null : new Date(after), at: new Date(at) }
}

/** Reads the changes that may have a cause other than our calls, oldest first. */
export async function readEvents(
  db: Database,
  order: StatementOrder,
): Promise<readonly StatementEvent[]> {
  const { rows } = await sql<StatementEvent>`
    select account, after, at, kind, credits::float8 as credits, balance::float8 as balance, call_id, run_id
    from analysis.statement
    where ${chosen(order)}
      and ${unexplained}
    order by account, line`.execute(db)
  return rows
}

function chosen({ account, since, until, zone }: StatementOrder) {
  return sql`(${account}::text is null or account = ${account}::text)
    and (${since}::date is null or at >= ${since}::date::timestamp at time zone ${zone}::text)
    and (${until}::date is null or at < ${until}::date::timestamp at time zone ${zone}::text)`
}

/** Stores lines that can no longer change. Stores nothing if another transaction changes one of their calls. */
export async function storeStatement(db: Database): Promise<void> {
  try {
    await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((trx) => trx.executeQuery(statement('store_statement', {})))
  } catch (error) {
    // 40001 (serialization failure): the snapshot lacks a change to a call. The next attempt will include the change.
    if (codeOf(error) !== '40001') throw error
  }
}
