// Determines why open tasks make no progress: no live worker, a dead worker's lease, or a pause.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import { clock, secondsBetween, utcText } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { countOf, sql } from '../../base/database/kysely.ts'

const mostSlices = 1_000

export type Wait = Awaited<ReturnType<typeof readWaits>>[number]

/** Reads other workers' calls in flight, and counts the tasks in open runs that may not be retried yet. */
export async function readWaits(db: Database, own: number) {
  const leases = await db
    .selectFrom('calls')
    .innerJoin('workers', 'workers.id', 'calls.worker')
    .select((eb) => [
      sql.lit('lease' as const).as('kind'),
      eb.fn.countAll<number>().as('calls'),
      'workers.id as worker',
      'workers.host',
      'workers.pid',
      utcText(eb.ref('workers.lease_until')).as('until'),
    ])
    .where('calls.outcome', 'is', null)
    .where('workers.id', '<>', own)
    .groupBy('workers.id')
    .orderBy('workers.id')
    .execute()
  const pauses = await db
    .selectFrom((eb) =>
      eb
        .selectFrom('slices')
        .innerJoin('runs', 'runs.id', 'slices.run_id')
        .select(['slices.run_id', 'slices.slice'])
        .where('slices.done_at', 'is', null)
        .where('runs.state', '=', 'open')
        .limit(mostSlices)
        .as('open'),
    )
    .innerJoin('tasks', (join) =>
      join.onRef('tasks.run_id', '=', 'open.run_id').onRef('tasks.slice', '=', 'open.slice'),
    )
    .innerJoin('queries', 'queries.id', 'tasks.query_id')
    .select((eb) => [
      sql.lit('pause' as const).as('kind'),
      eb.fn.countAll<number>().over().as('tasks'),
      'queries.q as query',
      'tasks.error_code as error',
      utcText(eb.ref('tasks.not_before')).as('until'),
      eb(secondsBetween(clock, eb.ref('tasks.not_before')), '*', 1000).as('ms'),
    ])
    .where('tasks.state', '=', 'open')
    .where('tasks.not_before', '>', clock)
    .$narrowType<{ until: string; ms: number }>()
    .orderBy('tasks.not_before')
    .limit(1)
    .execute()
  return [...leases, ...pauses]
}

export function countLiveWorkers(db: Database): Promise<number> {
  return countOf(db, liveWorkers(db).select('id'))
}

function liveWorkers(db: Database) {
  return db
    .selectFrom('workers')
    .where('workers.stopped_at', 'is', null)
    .where('workers.lease_until', '>', clock)
}

export function readLiveWorkers(db: Database) {
  return liveWorkers(db)
    .innerJoin('accounts', 'accounts.id', 'workers.account_id')
    .leftJoin('calls', (join) =>
      join.onRef('calls.worker', '=', 'workers.id').on('calls.outcome', 'is', null),
    )
    .select(({ fn }) => [
      'workers.id as worker',
      'accounts.name as account',
      'workers.host',
      'workers.pid',
      'workers.concurrency as lanes',
      'workers.floor',
      'workers.started_at',
      fn.count<number>('calls.id').as('in_flight'),
      fn<number | null>('round', [secondsBetween(fn.min<Date | null>('calls.sent_at'), clock)]).as(
        'oldest_s',
      ),
    ])
    .groupBy(['workers.id', 'accounts.name'])
    .orderBy('workers.id')
    .execute()
}

/** Code for the defect in the answer `s`; null if there is no defect. */
export const flawCode = sql`
  case
    when starts_with(s.parse_error, ${paidRefusal}) then 'PAID_REFUSAL'
    when starts_with(s.parse_error, ${otherQuery}) then 'OTHER_QUERY'
    when s.parse_error is not null then 'UNREADABLE'
  end`

/** Counts failed, unknown or unreadable tasks in the given runs by error code, most frequent code first. */
export async function countFailures(db: Database, runs: readonly number[]) {
  const { rows } = await sql<{ code: string; failures: number }>`
    select
      coalesce(${flawCode}, t.error_code, t.state) as code,
      count(*) as failures
    from tasks t
    left join searches s on s.id = t.search_id
    where t.run_id = any(${[...runs]}::bigint[])
      and t.state <> 'not_asked'
      and (t.state in ('failed', 'unknown') or s.parse_error is not null)
    group by 1
    order by failures desc, code`.execute(db)
  return Object.fromEntries(rows.map(({ code, failures }) => [code, failures]))
}

/** Counts the open tasks that workers can still process: tasks in unfinished slices of open runs. */
export function countOpenTasks(db: Database): Promise<number> {
  const open = db
    .selectFrom('tasks')
    .innerJoin('slices', (join) =>
      join.onRef('slices.run_id', '=', 'tasks.run_id').onRef('slices.slice', '=', 'tasks.slice'),
    )
    .innerJoin('runs', 'runs.id', 'tasks.run_id')
    .select('tasks.id')
    .where('tasks.state', '=', 'open')
    .where('slices.done_at', 'is', null)
    .where('runs.state', '=', 'open')
  return countOf(db, open)
}
