import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type Reservation, saveReservation } from '../../../src/core/ledger/reserve.ts'
import { changeOf, saveSettlement } from '../../../src/core/ledger/settle.ts'
import { openDesk } from './desk.ts'

type Desk = Awaited<ReturnType<typeof openDesk>>

/** Lets both transactions reach the row that another one has locked, and then releases it. */
async function atOnce<T>(
  { db }: Desk,
  held: 'accounts' | 'runs',
  writes: readonly (() => Promise<T>)[],
): Promise<readonly T[]> {
  const other = await db.startTransaction().execute()
  await sql`select from ${sql.table(held)} where id = 1 for update`.execute(other)
  const writing = Promise.all(writes.map((write) => write()))
  const waiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::integer as count
      from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows[0]?.count
  }
  await expect.poll(waiting).toBe(2)
  await other.rollback().execute()
  return await writing
}

/** Writes both reservations at once; returns how many were written. */
async function writeAtOnce(
  desk: Desk,
  held: 'accounts' | 'runs',
  both: readonly [Reservation, Reservation],
): Promise<number> {
  const writes = both.map((reservation) => () => saveReservation(desk.db, reservation))
  return (await atOnce(desk, held, writes)).filter((calls) => calls !== null).length
}

test.each([
  { steady: 'that holds whatever others write', more: {} },
  { steady: 'that counts on the row as it was read', more: { dailyBudget: 1_000 } },
])(
  'of two decisions $steady, one is written if there are credits for one call',
  async ({ more }) => {
    const desk = await openDesk()
    // For two runs, so that they share only the account.
    await desk.meanwhile(`
      update accounts set obs_remaining = 109 where id = 1;
      insert into runs (list_id, run_date, kind, state, max_age_ms)
      values (1, current_date, 'nightly', 'open', 86400000);
      update tasks set run_id = 2 where id = 2`)
    const both = [await desk.decide(more, [1]), await desk.decide(more, [2])] as const
    expect(both.map(({ grants }) => grants.length)).toEqual([1, 1])
    expect(await writeAtOnce(desk, 'accounts', both)).toBe(1)
    expect(await desk.account()).toMatchObject({ reserved: 5, inFlight: 1 })
  },
)

test('of two accounts that spend the rest of a budget at once, one succeeds', async () => {
  const desk = await openDesk()
  await desk.meanwhile(`
    update runs set budget = 5;
    insert into workers (account_id, host, pid, floor, concurrency, lease_until)
    values (2, 'there', 1, 0, 4, now() + interval '1 hour')`)
  const [two] = await desk.rows<{ version: string }>(
    'select xmin::text as version from accounts where id = 2',
  )
  const [one, same] = [await desk.decide({}, [1]), await desk.decide({}, [2])]
  const other = { ...same, account_id: 2, worker: 2, version: two?.version ?? '', counts: false }
  expect(await writeAtOnce(desk, 'runs', [one, other])).toBe(1)
  expect(await desk.rows('select reserved from runs')).toEqual([{ reserved: 5 }])
})

test('two settlements of one account at once add up', async () => {
  const desk = await openDesk()
  await desk.meanwhile('update accounts set in_flight = 2, reserved = 10 where id = 1')
  const writes = [41, 42].map((seq) => () => {
    const call = { start_seq: seq, sent_at_ms: Date.now(), start_total: 200, credits_reserved: 5 }
    const ending = { kind: 'settled', used: 3, remaining: 9_990, priced: true } as const
    const change = changeOf(
      [{ call: { ...call, class: '10/-', outcome: null, washed: false }, entry: { ending } }],
      [],
    )
    const nothing = { stops: [], calls: [], tasks: [], runs: [] }
    const settlement = { account_id: 1, key: 'z', floor: 100, jitter: 0, change, ...nothing }
    return saveSettlement(desk.db, settlement, [])
  })
  await atOnce(desk, 'accounts', writes)
  expect(await desk.account()).toMatchObject({ usedTotal: 206, reserved: 0, inFlight: 0 })
})
