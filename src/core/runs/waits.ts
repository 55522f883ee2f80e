// Finds out why open tasks do not progress: no live worker, a dead worker's lease, or a pause.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import { clock, secondsBetween, secondsOf, utcText } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { floorInForce, shownBalance } from '../ledger/standstill.ts'
import { hasAnswer } from '../nights/odd-nights.ts'

const mostSlices = 1_000

/** Something that open tasks must wait for before they can be bought. */
export type Wait = Awaited<ReturnType<typeof readWaits>>[number]

/**
 * Reads other workers' calls in flight, and how many tasks of open runs may not be retried yet, with the query of the
 * first task to be retried.
 */
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

/** Counts workers with a valid lease, for all accounts. */
export async function countLiveWorkers(db: Database): Promise<number> {
  const { live } = await db
    .selectFrom('workers')
    .select(({ fn }) => fn.countAll<number>().as('live'))
    .where('stopped_at', 'is', null)
    .where('lease_until', '>', clock)
    .executeTakeFirstOrThrow()
  return live
}

/** Open tasks without a live worker. */
export type Unattended = NonNullable<Awaited<ReturnType<typeof readUnattended>>>

/**
 * Finds tasks that have been open this long without a live worker and have not been reported since; null if there are
 * none. The period starts when the last worker ends or when a run is created or reopened, whichever is later.
 */
export async function readUnattended(db: Database, forMs: number) {
  const [found] = await readRows<{ since: Date }>(db, 'unattended_since', { for_ms: forMs })
  if (found === undefined) return null
  const tasks = await countOpenTasks(db)
  return tasks === 0 ? null : { since: found.since, tasks }
}

/** Workers with a valid lease, with their calls in flight. */
export function readLiveWorkers(db: Database) {
  return db
    .selectFrom('workers')
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
    .where('workers.stopped_at', 'is', null)
    .where('workers.lease_until', '>', clock)
    .groupBy(['workers.id', 'accounts.name'])
    .orderBy('workers.id')
    .execute()
}

/** Code for an answer `s` without valid results; null if nothing is wrong with it. */
export const flawCode = sql`
  case
    when starts_with(s.parse_error, ${paidRefusal}) then 'PAID_REFUSAL'
    when starts_with(s.parse_error, ${otherQuery}) then 'OTHER_QUERY'
    when s.parse_error is not null then 'UNREADABLE'
  end`

/** Counts failed, unknown or unreadable tasks of these runs by error code, most frequent first. */
export async function countFailures(
  db: Database,
  runs: readonly number[],
): Promise<Readonly<Record<string, number>>> {
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

/** Fields in answers of one run that the API had never sent before. */
export interface NewFields {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly api: string
  /** Number of answers with each field. */
  readonly found: readonly {
    readonly place: 'answer' | 'result'
    readonly field: string
    readonly answers: number
  }[]
}

/**
 * Checks the answers of runs that finished since a time, each run once, and returns fields that the API never sent
 * before. In the first answers of an API, no field counts as new.
 */
export async function takeNewFields(db: Database, since: Date): Promise<readonly NewFields[]> {
  const runs = await db
    .updateTable('runs')
    .set({ fields_read_at: clock })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('runs')
        .select('id')
        .where('state', 'in', ['done', 'cancelled'])
        .where('finished_at', '>', since)
        .where('fields_read_at', 'is', null)
        .orderBy('id')
        .forUpdate()
        .skipLocked(),
    )
    .returning('id')
    .execute()
  const found: NewFields[] = []
  const together = runs.map(({ id }) => id).toSorted((a, b) => a - b)
  for (const run of together) {
    found.push(...(await readRows<NewFields>(db, 'take_fields', { run, together })))
  }
  return found
}

/** Reads an account's gauges from the ledger; null before its first call. */
export async function readAccountGauges(
  db: Database,
  { name, kind }: { name: string; kind: string },
) {
  const gauges = await db
    .selectFrom('accounts as a')
    .select((eb) => [
      shownBalance.as('remaining'),
      'a.reserved',
      'a.uncertain',
      'a.in_flight',
      'a.used_total as used',
      floorInForce.as('floor'),
      eb
        .fn<string[]>('array', [
          eb
            .selectFrom('stops')
            .select('stops.reason')
            .whereRef('stops.account_id', '=', 'a.id')
            .where('stops.cleared_at', 'is', null)
            .where((stop) =>
              stop.or([stop('stops.until', 'is', null), stop('stops.until', '>', clock)]),
            ),
        ])
        .as('stops'),
    ])
    .where('a.name', '=', name)
    .where('a.kind', '=', kind)
    .executeTakeFirst()
  return gauges ?? null
}

/** Seconds since each list last had a run that ended with a readable answer. */
export function readSuccesses(db: Database) {
  return db
    .selectFrom('lists')
    .crossJoinLateral((eb) =>
      eb
        .selectFrom('runs as r')
        .select('r.finished_at')
        .whereRef('r.list_id', '=', 'lists.id')
        .where('r.state', '=', 'done')
        .where(hasAnswer)
        .orderBy('r.finished_at', 'desc')
        .limit(1)
        .as('newest'),
    )
    .select((eb) => [
      'lists.name as list',
      secondsOf(eb.ref('newest.finished_at')).$notNull().as('seconds'),
    ])
    .orderBy('lists.name')
    .execute()
}

/** Counts open tasks that workers can still process: those of open runs in unfinished slices. */
export async function countOpenTasks(db: Database): Promise<number> {
  const { open } = await db
    .selectFrom('tasks')
    .innerJoin('slices', (join) =>
      join.onRef('slices.run_id', '=', 'tasks.run_id').onRef('slices.slice', '=', 'tasks.slice'),
    )
    .innerJoin('runs', 'runs.id', 'tasks.run_id')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where('tasks.state', '=', 'open')
    .where('slices.done_at', 'is', null)
    .where('runs.state', '=', 'open')
    .executeTakeFirstOrThrow()
  return open
}
