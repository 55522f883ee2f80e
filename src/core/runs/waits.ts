// Why open work does not go on: nobody works, or something is waited for.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { statement } from '../../base/database/statement.ts'
import { floorInForce, shownBalance } from '../ledger/standstill.ts'
import { hasAnswer } from '../nights/odd-nights.ts'

/** Something that open tasks wait for before they can be bought. */
export type Wait =
  | {
      readonly kind: 'lease'
      readonly calls: number
      readonly worker: number
      readonly host: string
      readonly pid: number
      readonly until: string
    }
  | {
      readonly kind: 'pause'
      readonly tasks: number
      readonly error: string | null
      readonly until: string
    }

const mostSlices = 1_000

/** Calls that other workers have in flight, and tasks that are not to be tried before a time; nothing of other runs. */
export async function readWaits(db: Database, own: number): Promise<readonly Wait[]> {
  const leases = await sql<Wait>`
    select
      'lease' as kind, count(*) as calls, w.id as worker, w.host, w.pid,
      to_char(w.lease_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
    from calls c
    join workers w on w.id = c.worker
    where c.outcome is null and w.id <> ${own}
    group by w.id
    order by w.id`.execute(db)
  const pauses = await sql<Wait>`
    select
      'pause' as kind, count(*) as tasks, min(t.error_code) as error,
      to_char(min(t.not_before) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
    from (
      select s.run_id, s.slice
      from slices s
      join runs r on r.id = s.run_id and r.state = 'open'
      where s.done_at is null
      limit ${mostSlices}
    ) open
    join tasks t on t.run_id = open.run_id and t.slice = open.slice
    where t.state = 'open' and t.not_before > clock_timestamp()
    having count(*) > 0`.execute(db)
  return [...leases.rows, ...pauses.rows]
}

/** Open work that no live worker is there for. */
export interface Unattended {
  readonly since: Date
  readonly tasks: number
}

/** Workers whose lease holds, of all accounts. */
export async function countLiveWorkers(db: Database): Promise<number> {
  const { rows } = await sql<{ live: number }>`
    select count(*) as live
    from workers
    where stopped_at is null and lease_until > clock_timestamp()`.execute(db)
  return rows[0]?.live ?? 0
}

/**
 * Work that has lain open for so long without a live worker, and that nobody noted since it began; null: none. It begins
 * when the last worker goes or when a run is made or opened again, whichever is later.
 */
export async function readUnattended(db: Database, forMs: number): Promise<Unattended | null> {
  const { rows } = await sql<{ since: Date }>`
    with began as (
      select greatest(
        (select max(coalesce(stopped_at, lease_until)) from workers),
        (select min(greatest(created_at, opened_at)) from runs where state = 'open')
      ) as since
      where exists (select from runs where state = 'open')
        and not exists (
          select from workers where stopped_at is null and lease_until > clock_timestamp()
        )
    )
    select since
    from began
    where since < clock_timestamp() - ${forMs} * interval '1 millisecond'
      and not exists (
        select from notices where kind = 'work_unattended' and noted_at > since
      )`.execute(db)
  const [found] = rows
  if (found === undefined) return null
  const tasks = await countOpenTasks(db)
  return tasks === 0 ? null : { since: found.since, tasks }
}

/** A worker that lives. */
export interface LiveWorker {
  readonly worker: number
  readonly account: string
  readonly host: string
  readonly pid: number
  readonly lanes: number
  readonly floor: number
  readonly started_at: Date
  readonly in_flight: number
  readonly oldest_s: number | null
}

/** Workers whose lease has not run out, with the calls that each has on its way. */
export async function readCrew(db: Database): Promise<readonly LiveWorker[]> {
  const { rows } = await sql<LiveWorker>`
    select
      w.id as worker, a.name as account, w.host, w.pid, w.concurrency as lanes, w.floor, w.started_at,
      count(c.id) as in_flight,
      round(extract(epoch from clock_timestamp() - min(c.sent_at)))::float8 as oldest_s
    from workers w
    join accounts a on a.id = w.account_id
    left join calls c on c.worker = w.id and c.outcome is null
    where w.stopped_at is null
      and w.lease_until > clock_timestamp()
    group by w.id, a.name
    order by w.id`.execute(db)
  return rows
}

/** Code of an answer `s` without results that count; null where nothing is wrong with it. */
export const flawCode = sql`
  case
    when starts_with(s.parse_error, ${paidRefusal}) then 'PAID_REFUSAL'
    when starts_with(s.parse_error, ${otherQuery}) then 'OTHER_QUERY'
    when s.parse_error is not null then 'UNREADABLE'
  end`

/** Tasks of these runs that failed, are unknown, or whose answer cannot be read, by the code of the error; most first. */
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

/** Fields that answers of one run carry, and none of its API did before. */
export interface NewFields {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly api: string
  /** With how many answers each came. */
  readonly found: readonly {
    readonly place: 'answer' | 'result'
    readonly field: string
    readonly answers: number
  }[]
}

/**
 * Looks through the answers of runs that finished since a time, each run once, and gives the fields that the API never
 * sent before. Of an API whose first answers these are nothing is new.
 */
export async function takeNewFields(db: Database, since: Date): Promise<readonly NewFields[]> {
  const { rows } = await sql<{ id: number }>`
    update runs
    set fields_read_at = clock_timestamp()
    where id in (
      select id
      from runs
      where state in ('done', 'cancelled')
        and finished_at > ${since}
        and fields_read_at is null
      order by id
      for update skip locked
    )
    returning id`.execute(db)
  const found: NewFields[] = []
  for (const { id } of rows.toSorted((a, b) => a.id - b.id)) {
    const read = await db.executeQuery(statement<NewFields>('take_fields', [id]))
    found.push(...read.rows)
  }
  return found
}

/** What the tables say about an account, for metrics. */
interface AccountGauges {
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
