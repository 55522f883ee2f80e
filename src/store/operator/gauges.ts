import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { floorInForce } from '../ledger/floor.ts'
import { shownBalance } from '../ledger/standstill.ts'
import { hasAnswer } from '../nights/good.ts'

/** What the tables say about an account, for metrics. */
export interface AccountGauges {
  readonly remaining: number | null
  readonly reserved: number
  readonly uncertain: number
  readonly in_flight: number
  readonly used: number
  /** In force by live workers; null while none lives. */
  readonly floor: number | null
  readonly stops: readonly string[]
}

/** The account as the ledger knows it; null before its first call. */
export async function readAccountGauges(
  db: Database,
  { name, kind }: { name: string; kind: string },
): Promise<AccountGauges | null> {
  const { rows } = await sql<AccountGauges>`
    select
      ${shownBalance} as remaining,
      a.reserved, a.uncertain, a.in_flight, a.used_total as used,
      ${floorInForce} as floor,
      (
        select coalesce(array_agg(s.reason), '{}')
        from stops s
        where s.account_id = a.id
          and s.cleared_at is null
          and (s.until is null or s.until > clock_timestamp())
      ) as stops
    from accounts a
    where a.name = ${name}
      and a.kind = ${kind}`.execute(db)
  return rows[0] ?? null
}

/** When each list last had a run that ended with an answer that can be read: one of which every task failed is none. */
export async function readSuccesses(
  db: Database,
): Promise<readonly { list: string; seconds: number }[]> {
  const { rows } = await sql<{ list: string; seconds: number }>`
    select l.name as list, extract(epoch from newest.finished_at)::float8 as seconds
    from lists l
    cross join lateral (
      select r.finished_at
      from runs r
      where r.list_id = l.id and r.state = 'done' and ${hasAnswer}
      order by r.finished_at desc
      limit 1
    ) newest
    order by l.name`.execute(db)
  return rows
}

/** Counts open tasks that work can still reach: those of open runs and of slices that are not done. */
export async function countOpenTasks(db: Database): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*) as open
    from tasks t
    join slices s on s.run_id = t.run_id and s.slice = t.slice and s.done_at is null
    join runs r on r.id = t.run_id and r.state = 'open'
    where t.state = 'open'`.execute(db)
  return rows[0]?.open ?? 0
}
