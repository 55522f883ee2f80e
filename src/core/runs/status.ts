// Reads the state of runs from the database.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import { clockBefore, utcText } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { countOf, sql } from '../../base/database/kysely.ts'
import { floorInForce, shownBalance } from '../ledger/standstill.ts'

const taskStates = [
  'open',
  'answered',
  'reused',
  'not_asked',
  'failed',
  'unknown',
  'unaffordable',
  'cancelled',
] as const
export type TaskState = (typeof taskStates)[number]

export interface RunStatus {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly kind: string
  readonly state: string
  readonly tasks: Readonly<Record<TaskState, number>>
  /** Answers without valid results: unreadable answers, charged rejections, and answers to a different query. */
  readonly unreadable: number
  /** Rejections charged by the API. They are included in `unreadable`. */
  readonly paid_refusal: number
  /** Answers to a different query. They are included in `unreadable`. */
  readonly other_query: number
  readonly rejected: number
  /** Credits used by calls whose cost is known. */
  readonly spent: number
  /**
   * Credits reserved for calls with an unknown outcome, which may have been charged. They are not included in `spent`.
   */
  readonly uncertain: number
  /** Credits reserved for calls in flight. They are not included in `spent`. */
  readonly reserved: number
  readonly budget: number | null
  readonly created_at: string
  readonly finished_at: string | null
}

export async function readRuns(
  db: Database,
  { run, limit }: { run: number | null; limit: number },
): Promise<readonly RunStatus[]> {
  const { rows } = await sql<
    Omit<RunStatus, 'tasks'> & { tasks: Partial<Record<TaskState, number>> | null }
  >`
    select
      r.id as run, l.name as list, r.run_date, r.kind, r.state, r.rejected, r.spent, r.uncertain, r.reserved, r.budget,
      to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created_at,
      to_char(r.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as finished_at,
      (
        select jsonb_object_agg(state, count)
        from (select t.state, count(*) from tasks t where t.run_id = r.id group by t.state) counted
      ) as tasks,
      flaws.*
    from (
      select * from runs
      where ${run}::bigint is null or id = ${run}::bigint
      order by (state in ('planning', 'open')) desc, id desc
      limit ${limit}
    ) r
    join lists l on l.id = r.list_id
    cross join lateral (
      select
        count(*) as unreadable,
        count(*) filter (where starts_with(s.parse_error, ${paidRefusal})) as paid_refusal,
        count(*) filter (where starts_with(s.parse_error, ${otherQuery})) as other_query
      from tasks t
      join searches s on s.id = t.search_id
      where t.run_id = r.id and s.parse_error is not null
    ) flaws
    order by r.id desc`.execute(db)
  return rows.map((row) => ({ ...row, tasks: { ...noTasks, ...row.tasks } }))
}

const noTasks = Object.fromEntries(taskStates.map((state) => [state, 0])) as Record<
  TaskState,
  number
>

export interface AccountStatus {
  readonly id: number
  readonly name: string
  readonly kind: string
  readonly remaining: number | null
  readonly observed_at: string | null
  readonly observed_ago_s: number | null
  readonly reserved: number
  readonly uncertain: number
  readonly in_flight: number
  readonly floor: number | null
  readonly workers: number
  readonly day_spent: number
  readonly month_spent: number
  /** Credits per call by which the balance fell more than billed, based on the last calls. */
  readonly external_per_call: number
  readonly stops: readonly { reason: string; since: string; until: string | null; detail: string }[]
}

export async function readAccount(
  db: Database,
  { name, kind }: { readonly name: string; readonly kind: string },
): Promise<AccountStatus | null> {
  const { rows } = await sql<AccountStatus>`
    select
      a.id, a.name, a.kind, a.reserved, a.uncertain, a.in_flight, a.day_spent, a.month_spent,
      greatest(a.external_now, a.external_last) as external_per_call,
      ${shownBalance} as remaining,
      to_char(a.obs_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as observed_at,
      round(extract(epoch from clock_timestamp() - a.obs_at))::float8 as observed_ago_s,
      ${floorInForce} as floor,
      (
        select count(*) from workers w
        where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
      ) as workers,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'reason', s.reason,
          'since', to_char(s.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
          'until', to_char(s.until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
          'detail', coalesce(s.detail, '')
        ) order by s.since desc), '[]')
        from stops s
        where s.account_id = a.id
          and s.cleared_at is null
          and (s.until is null or s.until > clock_timestamp())
      ) as stops
    from accounts a
    where a.name = ${name} and a.kind = ${kind}`.execute(db)
  return rows[0] ?? null
}

/** Counts tasks that ended in the last minute, to show the current rate. */
export function endedLastMinute(db: Database): Promise<number> {
  const ended = db
    .selectFrom('calls')
    .select('id')
    .where('id', '>', (eb) =>
      eb.selectFrom('calls').select(eb(eb.fn.max('calls.id'), '-', 100_000).as('newest')),
    )
    .where('finished_at', '>', clockBefore(60_000))
    .where('outcome', '=', 'settled')
  return countOf(db, ended)
}

export type UnknownCall = Awaited<ReturnType<typeof readUnknown>>[number]

export function readUnknown(db: Database, limit: number) {
  return db
    .selectFrom('calls')
    .innerJoin('tasks', 'tasks.id', 'calls.task_id')
    .innerJoin('queries', 'queries.id', 'tasks.query_id')
    .select((eb) => [
      'calls.id as call',
      'tasks.id as task',
      'tasks.run_id as run',
      'queries.q',
      'tasks.state as task_state',
      utcText(eb.ref('calls.sent_at')).as('sent_at'),
      'calls.credits_reserved as credits_at_risk',
      eb('calls.washed_at', 'is', null).$castTo<boolean>().as('held'),
      eb
        .fn<string>('concat_ws', [sql.lit(': '), 'calls.error_code', 'calls.error_message'])
        .as('error'),
    ])
    .where('calls.outcome', '=', 'unknown')
    .orderBy('calls.id', 'desc')
    .limit(limit)
    .execute()
}

export async function dearestSeen(db: Database, account: string): Promise<number | null> {
  const { dearest } = await db
    .selectFrom('account_costs')
    .innerJoin('accounts', 'accounts.id', 'account_costs.account_id')
    .select(({ fn }) => fn.max('account_costs.dearest').as('dearest'))
    .where('accounts.name', '=', account)
    .executeTakeFirstOrThrow()
  return dearest
}
