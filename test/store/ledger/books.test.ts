import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { keepBooks } from '../../../src/store/ledger/books.ts'
import type { Settlement } from '../../../src/store/ledger/settlement.ts'
import { mostBlocks } from '../../support/blocks.ts'
import { freshDatabase } from '../../support/database.ts'

const many = 20_000

/** A run of which half is answered, and statistics that say so. */
async function openBooks() {
  const { db, pool, close } = await freshDatabase()
  onTestFinished(close)
  await sql`insert into accounts (name, kind) values ('here', 'live')`.execute(db)
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

const account = {
  seq: many,
  used_total: many,
  obs_seq: null,
  obs_at_ms: null,
  obs_remaining: null,
  spent_since: 0,
  reserved: 0,
  in_flight: 0,
  uncertain: 0,
  drained_floor: null,
  blind_calls: 0,
  probe_granted: false,
  last_probe_at_ms: null,
  not_before_ms: null,
  rate_next_at_ms: null,
  slowdowns: 0,
  blocked_key: null,
  day: null,
  day_spent: 0,
}
const settled = {
  http_status: 200,
  credits_used: 1,
  credits_remaining: 9,
  error_code: null,
  error_message: null,
}
const answered = {
  state: 'answered',
  search_id: many,
  attempts: 1,
  ambiguous: 0,
  deaths: 0,
  wait_ms: null,
  error_code: null,
  error_message: null,
}
const settlement: Settlement = {
  account_id: 1,
  account,
  stops: [],
  cleared: [],
  costs: [],
  runs: [{ run: 1, spent: 1, reserved: -1 }],
  calls: [{ id: many / 2 + 1, outcome: 'settled', ...settled }],
  washed: [],
  tasks: [{ id: many / 2 + 1, ...answered }],
}

test('keeping the books reads the rows it writes, however large the tables are', async () => {
  const pool = await openBooks()
  const client = await pool.connect()
  onTestFinished(() => client.release())
  await client.query('begin')
  // As a worker is connected.
  for (const way of ['seqscan', 'hashjoin', 'mergejoin']) {
    await client.query(`set local enable_${way} = off`)
  }
  const { sql: text, parameters } = keepBooks(settlement)
  const blocks = await mostBlocks(client, text, parameters)
  await client.query('rollback')
  expect(blocks).toBeLessThan(150)
})
