import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { CompiledQuery } from '../../../src/base/database/kysely.ts'
import { type Reservation, reserving } from '../../../src/core/ledger/reserve.ts'
import { type Settlement, settling } from '../../../src/core/ledger/settle.ts'
import { mostBlocks, touchedRows } from '../../support/blocks.ts'
import { freshDatabase } from '../../support/database.ts'

const many = 20_000

/** A run of which half is answered, with statistics to match. */
async function openBooks() {
  const { db, pool, close } = await freshDatabase()
  onTestFinished(close)
  await sql`insert into accounts (name, kind, seq, reserved, in_flight, obs_seq, obs_at, obs_remaining) values ('here', 'live', ${many}::int, 1, 1, 1, now(), 1000)`.execute(
    db,
  )
  await sql`insert into workers (account_id, host, pid, floor, concurrency, lease_until) values (1, 'here', 1, 0, 1, now() + interval '1 hour')`.execute(
    db,
  )
  await sql`insert into lists (name, source) values ('list', 'list.csv')`.execute(db)
  await sql`
    insert into runs (list_id, run_date, kind, state) values (1, current_date, 'manual', 'open')`.execute(
    db,
  )
  await sql`
    insert into tasks (run_id, query_id, slice, state)
    select 1, gen_random_uuid(), n / 25, case when n > ${many / 2}::int then 'open' else 'answered' end
    from generate_series(1, ${many}::int) n`.execute(db)
  await sql`
    insert into calls (
      task_id, query_id, account_id, worker, sent_at, start_seq, start_total, credits_reserved, class, outcome
    )
    select id, query_id, 1, 1, now(), id, id, 1, '10/-', case when state = 'open' then null else 'settled' end
    from tasks
    where id <= ${many / 2 + 64}::int`.execute(db)
  await pool.query('analyze')
  return pool
}

const settled = {
  http_status: 200,
  credits_used: 1,
  credits_remaining: 9,
  error_code: undefined,
  error_message: undefined,
}
const answered = {
  state: 'answered',
  search_id: many,
  attempts: 1,
  ambiguous: 0,
  deaths: 0,
}
const settlement: Settlement = {
  account_id: 1,
  key: 'key',
  floor: 0,
  jitter: 0,
  change: {
    ...{ reserved: -1, in_flight: -1, uncertain: 0, used: 1, day_spent: 1, least: 9, untold: 0 },
    newest: { seq: many, started_at_ms: 0, start_total: 0, used: 1, remaining: 9 },
    ...{ refused_keys: [], no_credit: null, slow_down: null, welcome: true },
    wrong_answers: 0,
    prices: [{ class: '10/-', first: 1, second: 0, count: 1, cheapest: 1, tried: true }],
  },
  stops: [],
  calls: [
    {
      ...{ id: many / 2 + 1, mark: undefined, was: undefined, was_washed: false, bound: 1 },
      ...{ outcome: 'settled', ...settled },
    },
  ],
  tasks: [],
  runs: [{ run: 1, spent: 1, uncertain: 0, reserved: -1 }],
}

async function reservationOf(pool: Pool): Promise<Reservation> {
  const { rows } = await pool.query<{ version: string; task: string; query: string; id: number }>(
    `select a.xmin::text as version, t.xmin::text as task, t.query_id as query, t.id
    from accounts a, tasks t
    where t.state = 'open' and not exists (select from calls c where c.task_id = t.id)
    order by t.id limit 1`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('expected an open task')
  const { version, task, query, id } = row
  return {
    ...{ account_id: 1, worker: 1, origin: 'live', api: 'api', key: 'key', floor: 0, counts: true },
    ...{
      version,
      steady: false,
      stops: [],
      cleared: [],
      trying: [],
      reused: [],
      given_up: [],
      spent_runs: [],
    },
    ...{ spent_by_list: [], most_in_flight: null, external: 0 },
    state: {
      ...{ drained_floor: null, blind_calls: 0, probe_granted: false, last_probe_at_ms: null },
      ...{ rate_next_at_ms: null, day: null, day_spent: 0, month: null, month_spent: 0 },
    },
    tasks: [{ id, version: task, reused: false }],
    runs: [{ run: 1, budget: null, had_spent: 0, had_reserved: 0, reserved: 1, list: null }],
    grants: [
      {
        task: id,
        query,
        mark: randomUUID(),
        place: 1,
        class: '10/-',
        bound: 1,
        max_age_ms: 0,
        probe: false,
      },
    ],
  }
}

/**
 * Reads the plan of a statement on a connection like a worker's, with one plan for all values. The first execution also
 * counts catalogue reads, and so does one after other tests invalidated the cache.
 */
async function planned(
  pool: Pool,
  look: typeof mostBlocks,
  { sql: text, parameters }: CompiledQuery,
): Promise<number> {
  const client = await pool.connect()
  onTestFinished(() => client.release())
  await client.query('begin')
  for (const way of ['seqscan', 'hashjoin', 'mergejoin', 'memoize']) {
    await client.query(`set local enable_${way} = off`)
  }
  await client.query('set local plan_cache_mode = force_generic_plan')
  await client.query(`prepare planned as ${text}`)
  const given = parameters.map((value) => client.escapeLiteral(String(value)))
  const found: number[] = []
  await client.query('savepoint before')
  for (let time = 0; time < 3; time += 1) {
    found.push(await look(client, `execute planned (${given.join(', ')})`, []))
    await client.query('rollback to before')
  }
  await client.query('rollback; deallocate planned')
  return Math.min(...found)
}

/** A settlement of the oldest calls in flight with their tasks. */
async function settlementOf(pool: Pool, count: number): Promise<CompiledQuery> {
  const { rows } = await pool.query<{ id: number; version: string }>(
    'select id, xmin::text as version from tasks where id > $1 order by id limit $2',
    [many / 2, count],
  )
  const [call] = settlement.calls
  if (call === undefined) throw new Error('expected a call')
  return settling({
    ...settlement,
    calls: rows.map(({ id }) => ({ ...call, id })),
    tasks: rows.map((task) => ({ ...task, ...answered })),
  })
}

test('settling reads only the rows that it writes, however large the tables are', async () => {
  const pool = await openBooks()
  expect(await planned(pool, mostBlocks, await settlementOf(pool, 1))).toBeLessThan(100)
})

test('settling four times as many calls reads four times as many rows', async () => {
  const pool = await openBooks()
  const few = await planned(pool, touchedRows, await settlementOf(pool, 16))
  const more = await planned(pool, touchedRows, await settlementOf(pool, 64))
  expect(more / few).toBeLessThan(5)
})

test('reserving reads only the rows that it writes, however large the tables are', async () => {
  const pool = await openBooks()
  const reservation = reserving(await reservationOf(pool))
  expect(await planned(pool, mostBlocks, reservation)).toBeLessThan(100)
})
