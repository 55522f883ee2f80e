// Reads the state of runs from the database.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import { clock, clockBefore, secondsBetween, utcText } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { countOf, type Selectable, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
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

type RunColumns = Pick<
  Selectable<DB['runs']>,
  'run_date' | 'kind' | 'state' | 'rejected' | 'spent' | 'uncertain' | 'reserved' | 'budget'
>

export interface RunStatus extends Readonly<RunColumns> {
  readonly run: number
  readonly list: string
  readonly tasks: Readonly<Record<TaskState, number>>
  /** Answers without valid results: unreadable answers, charged rejections, and answers to a different query. */
  readonly unreadable: number
  /** Rejections charged by the API, which are included in `unreadable`. */
  readonly paid_refusal: number
  /** Answers to a different query, which are included in `unreadable`. */
  readonly other_query: number
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
      counted.*
    from (
      select * from runs
      where ${run}::bigint is null or id = ${run}::bigint
      order by (state in ('planning', 'open')) desc, id desc
      limit ${limit}
    ) r
    join lists l on l.id = r.list_id
    cross join lateral (
      select
        jsonb_object_agg(state, count) as tasks,
        coalesce(sum(unreadable), 0)::bigint as unreadable,
        coalesce(sum(paid_refusal), 0)::bigint as paid_refusal,
        coalesce(sum(other_query), 0)::bigint as other_query
      from (
        select
          t.state,
          count(*),
          count(s.id) as unreadable,
          count(*) filter (where starts_with(s.parse_error, ${paidRefusal})) as paid_refusal,
          count(*) filter (where starts_with(s.parse_error, ${otherQuery})) as other_query
        from tasks t
        -- Few answers are unreadable, so they are read first.
        left join (select id, parse_error from searches where parse_error is not null offset 0) s on s.id = t.search_id
        where t.run_id = r.id
        group by t.state
      ) by_state
    ) counted
    order by r.id desc`.execute(db)
  return rows.map((row) => ({ ...row, tasks: { ...noTasks, ...row.tasks } }))
}

const noTasks = Object.fromEntries(taskStates.map((state) => [state, 0])) as Record<
  TaskState,
  number
>

/** Reads the state of an account; null before its first call. */
export async function readAccount(
  db: Database,
  { name, kind }: { readonly name: string; readonly kind: string },
) {
  const account = await db
    .selectFrom('accounts as a')
    .select((eb) => [
      ...(['a.id', 'a.name', 'a.kind', 'a.reserved', 'a.uncertain', 'a.in_flight'] as const),
      ...(['a.day_spent', 'a.month_spent'] as const),
      // External spend in credits per call, measured over the last calls.
      eb.fn<number>('greatest', ['a.external_now', 'a.external_last']).as('external_per_call'),
      shownBalance.as('remaining'),
      utcText(eb.ref('a.obs_at')).as('observed_at'),
      eb
        .fn<number | null>('round', [secondsBetween(eb.ref('a.obs_at'), clock)])
        .as('observed_ago_s'),
      floorInForce.as('floor'),
      eb
        .selectFrom('workers as w')
        .select(({ fn }) => fn.countAll<number>().as('workers'))
        .whereRef('w.account_id', '=', 'a.id')
        .where('w.stopped_at', 'is', null)
        .where('w.lease_until', '>', clock)
        .$asScalar()
        .$notNull()
        .as('workers'),
    ])
    .where('a.name', '=', name)
    .where('a.kind', '=', kind)
    .executeTakeFirst()
  if (account === undefined) return null
  const stops = await db
    .selectFrom('stops')
    .select((eb) => [
      'reason',
      utcText(eb.ref('since')).as('since'),
      utcText(eb.ref('until')).as('until'),
      eb.fn.coalesce('detail', sql.lit('')).as('detail'),
    ])
    .where('account_id', '=', account.id)
    .where('cleared_at', 'is', null)
    .where((eb) => eb.or([eb('until', 'is', null), eb('until', '>', clock)]))
    .orderBy('since', 'desc')
    .execute()
  return { ...account, stops }
}

export function endedLastMinute(db: Database): Promise<number> {
  const ended = db
    .selectFrom('calls')
    .select('id')
    .where('id', '>', (eb) =>
      eb.selectFrom('calls').select(eb(eb.fn.max('calls.id'), '-', 100_000).as('newest')),
    )
    .where('finished_at', '>', clockBefore(60_000))
    .where('outcome', '=', 'settled')
    // If no worker was active in the last minute, the calls need not be read.
    .where((eb) =>
      eb.exists(eb.selectFrom('workers').where('lease_until', '>', clockBefore(60_000))),
    )
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
