import { sql, type Transaction } from 'kysely'
import type { Database } from './database.ts'
import type { DB } from './schema.ts'
import { statement } from './statement.ts'

type Trx = Transaction<DB>

/** A row of `accounts` as the ledger reads and writes it; times in milliseconds. */
export interface AccountRow {
  readonly seq: number
  readonly used_total: number
  readonly obs_seq: number | null
  readonly obs_at_ms: number | null
  readonly obs_remaining: number | null
  readonly spent_since: number
  readonly reserved: number
  readonly in_flight: number
  readonly uncertain: number
  readonly drained_floor: number | null
  readonly blind_calls: number
  readonly probe_granted: boolean
  readonly last_probe_at_ms: number | null
  readonly not_before_ms: number | null
  readonly rate_next_at_ms: number | null
  readonly slowdowns: number
  readonly blocked_key: string | null
  readonly day: string | null
  readonly day_spent: number
}

export interface CostRow {
  readonly class: string
  readonly dearest: number | null
  readonly cheapest: number | null
  readonly seen: number
  readonly trying: boolean
}

export interface StopRow {
  readonly reason: string
  readonly since_ms: number
  readonly until_ms: number | null
  readonly detail: string | null
}

/** The books of an account, read under its lock. */
export interface Books {
  readonly account: AccountRow
  readonly now_ms: number
  /** The highest floor among live workers. */
  readonly floor: number
  readonly costs: readonly CostRow[]
  readonly stops: readonly StopRow[]
}

/** A task as the gate needs it. */
export interface WaitingTask {
  readonly id: number
  readonly query_id: string
  readonly state: string
  readonly run_id: number
  readonly run_open: boolean
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
  /** True when a call for the task, or for its query, is in flight. */
  readonly busy: boolean
  readonly due: boolean
  /** A readable answer that is young enough for the run. */
  readonly fresh: number | null
}

/** A call as settlement needs it, with the tries of its task. */
export interface OpenCall {
  readonly id: number
  readonly outcome: string | null
  readonly washed: boolean
  readonly start_seq: number
  readonly sent_at_ms: number
  readonly start_total: number
  readonly credits_reserved: number
  readonly class: string
  readonly task_id: number
  readonly run_id: number
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
}

export interface HeldCall {
  readonly call: number
  readonly unknown_at_ms: number
  readonly bound: number
}

const accountColumns = sql`
  a.seq, a.used_total, a.obs_seq, extract(epoch from a.obs_at)::float8 * 1000 as obs_at_ms,
  a.obs_remaining, a.spent_since, a.reserved, a.in_flight, a.uncertain, a.drained_floor,
  a.blind_calls, a.probe_granted, extract(epoch from a.last_probe_at)::float8 * 1000 as last_probe_at_ms,
  extract(epoch from a.not_before)::float8 * 1000 as not_before_ms,
  extract(epoch from a.rate_next_at)::float8 * 1000 as rate_next_at_ms,
  a.slowdowns, a.blocked_key, a.day::text as day, a.day_spent`

/** Takes the account's row: whoever holds it decides alone. A statement of its own, so that the next one sees all. */
export async function lockAccount(trx: Trx, id: number): Promise<void> {
  await sql`select from accounts where id = ${id} for no key update`.execute(trx)
}

const booksColumns = sql`
  extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
  (
    select coalesce(max(w.floor), 0)::float8
    from workers w
    where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
  ) as floor,
  (
    select coalesce(jsonb_agg(jsonb_build_object(
      'class', c.class, 'dearest', c.dearest, 'cheapest', c.cheapest, 'seen', c.seen, 'trying', c.trying
    )), '[]')
    from account_costs c
    where c.account_id = a.id
  ) as costs,
  (
    select coalesce(jsonb_agg(jsonb_build_object(
      'reason', s.reason,
      'since_ms', extract(epoch from s.since)::float8 * 1000,
      'until_ms', extract(epoch from s.until)::float8 * 1000,
      'detail', s.detail
    )), '[]')
    from stops s
    where s.account_id = a.id and s.cleared_at is null
  ) as stops`

interface LooseBooks extends AccountRow {
  readonly now_ms: number
  readonly floor: number
  readonly costs: CostRow[]
  readonly stops: StopRow[]
}

function booksOf(row: LooseBooks): Books {
  const { now_ms, floor, costs, stops, ...account } = row
  return { account, now_ms, floor, costs, stops }
}

/** The books, the worker's own lease and the tasks it wants to buy, in one reading. */
export async function readForReserve(
  trx: Trx,
  wanted: {
    account: number
    worker: number
    tasks: readonly number[]
    origin: string
    api: string
  },
): Promise<{ books: Books; leaseLive: boolean; tasks: readonly WaitingTask[] }> {
  const { rows } = await sql<LooseBooks & { lease_live: boolean; tasks: WaitingTask[] }>`
    select ${accountColumns}, ${booksColumns},
      (
        select w.lease_until > clock_timestamp() and w.stopped_at is null
        from workers w
        where w.id = ${wanted.worker}
      ) as lease_live,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', t.id,
          'query_id', t.query_id,
          'state', t.state,
          'run_id', t.run_id,
          'run_open', r.state = 'open',
          'budget', r.budget,
          'spent', r.spent,
          'reserved', r.reserved,
          'due', t.not_before is null or t.not_before <= clock_timestamp(),
          'busy',
            exists (select from calls c where c.task_id = t.id and c.outcome is null)
            or exists (
              select from calls c
              where c.account_id = a.id and c.query_id = t.query_id and c.outcome is null
            ),
          'fresh', (
            select s.id
            from searches s
            where r.max_age_ms > 0
              and s.query_id = t.query_id
              and s.fetched_at > clock_timestamp() - r.max_age_ms * interval '1 millisecond'
              and s.origin = ${wanted.origin}
              and s.api = ${wanted.api}
              and s.parse_error is null
            order by s.fetched_at desc
            limit 1
          )
        )), '[]')
        from tasks t
        join runs r on r.id = t.run_id
        where t.id = any(${wanted.tasks as number[]}::bigint[])
      ) as tasks
    from accounts a
    where a.id = ${wanted.account}`.execute(trx)
  const row = rows[0]
  if (row === undefined) throw new Error(`expected account ${wanted.account}, got none`)
  const { lease_live, tasks, ...books } = row
  return { books: booksOf(books), leaseLive: lease_live, tasks }
}

/** Open tasks more urgent than a priority, counted up to a limit: only asked when credit is scarce. */
export async function countMoreUrgent(
  trx: Trx,
  { priority, except, limit }: { priority: number; except: readonly number[]; limit: number },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count
    from (
      select 1
      from slices s
      join runs r on r.id = s.run_id and r.state = 'open'
      join tasks t on t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
      where s.done_at is null
        and s.priority < ${priority}
        and not t.id = any(${except as number[]}::bigint[])
        and not exists (select from calls c where c.task_id = t.id and c.outcome is null)
      limit ${limit}
    ) urgent`.execute(trx)
  return rows[0]?.count ?? 0
}

/** The books, the calls that ended and the credits held for calls nobody could read. */
export async function readForSettle(
  trx: Trx,
  account: number,
  calls: readonly number[],
): Promise<{ books: Books; calls: readonly OpenCall[]; held: readonly HeldCall[] }> {
  const { rows } = await sql<LooseBooks & { calls: OpenCall[]; held: HeldCall[] }>`
    select ${accountColumns}, ${booksColumns},
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', c.id,
          'outcome', c.outcome,
          'washed', c.washed_at is not null,
          'start_seq', c.start_seq,
          'sent_at_ms', extract(epoch from c.sent_at)::float8 * 1000,
          'start_total', c.start_total,
          'credits_reserved', c.credits_reserved,
          'class', c.class,
          'task_id', c.task_id,
          'run_id', t.run_id,
          'state', t.state,
          'attempts', t.attempts,
          'ambiguous', t.ambiguous,
          'deaths', t.deaths
        )), '[]')
        from calls c
        join tasks t on t.id = c.task_id
        where c.id = any(${calls as number[]}::bigint[])
      ) as calls,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'call', c.id,
          'unknown_at_ms', extract(epoch from c.unknown_at)::float8 * 1000,
          'bound', c.credits_reserved
        )), '[]')
        from calls c
        where a.uncertain > 0 and c.account_id = a.id and c.outcome = 'unknown' and c.washed_at is null
      ) as held
    from accounts a
    where a.id = ${account}`.execute(trx)
  const row = rows[0]
  if (row === undefined) throw new Error(`expected account ${account}, got none`)
  const { calls: ended, held, ...books } = row
  return { books: booksOf(books), calls: ended, held }
}

export interface AccountChange {
  readonly id: number
  readonly account: AccountRow
  readonly stops: readonly { reason: string; until_ms: number | null; detail: string | null }[]
  readonly cleared: readonly { reason: string; by: string }[]
}

/** Writes the account back, with the stops that begin or end. */
export async function saveAccount(trx: Trx, change: AccountChange): Promise<void> {
  await trx.executeQuery(statement('save_account', [JSON.stringify(change)]))
}

export interface Reservation {
  readonly account_id: number
  readonly worker: number
  readonly sent_at_ms: number
  readonly grants: readonly {
    task: number
    query: string
    class: string
    bound: number
    seq: number
    start_total: number
    probe: boolean
  }[]
  readonly runs: readonly { run: number; bound: number }[]
  readonly trying: readonly string[]
  readonly reused: readonly { task: number; search: number }[]
  readonly spent_runs: readonly number[]
}

/** Inserts the calls; gives back which call serves which task. */
export async function saveReservation(
  trx: Trx,
  reservation: Reservation,
): Promise<ReadonlyMap<number, number>> {
  const written = statement<{ id: number; task_id: number }>('reserve', [
    JSON.stringify(reservation),
  ])
  const { rows } = await trx.executeQuery(written)
  return new Map(rows.map((row) => [row.task_id, row.id]))
}

export interface Ledgering {
  readonly account_id: number
  readonly calls: readonly {
    id: number
    outcome: string
    http_status: number | null
    credits_used: number | null
    credits_remaining: number | null
    error_code: string | null
    error_message: string | null
  }[]
  readonly washed: readonly number[]
  readonly tasks: readonly {
    id: number
    state: string
    search_id: number | null
    attempts: number
    ambiguous: number
    deaths: number
    wait_ms: number | null
    error_code: string | null
    error_message: string | null
  }[]
  readonly runs: readonly { run: number; spent: number; reserved: number }[]
  readonly costs: readonly CostRow[]
}

/** Writes the outcomes of calls and what they mean for tasks, runs and prices. */
export async function saveSettlement(trx: Trx, ledgering: Ledgering): Promise<void> {
  await trx.executeQuery(statement('settle', [JSON.stringify(ledgering)]))
}

/** Finds the account's row or makes it; gives back its number. */
export async function openAccount(
  db: Database,
  { name, kind }: { name: string; kind: 'live' | 'test' | 'sandbox' },
): Promise<number> {
  await sql`
    insert into accounts (name, kind)
    values (${name}, ${kind})
    on conflict (name, kind) do nothing`.execute(db)
  const { id } = await db
    .selectFrom('accounts')
    .select('id')
    .where('name', '=', name)
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
  return id
}
