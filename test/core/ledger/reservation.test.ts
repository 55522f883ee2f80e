import { describe, expect, test } from 'vitest'
import { saveReservation } from '../../../src/core/ledger/reserve.ts'
import { answer, call, day, lost, openDesk } from './desk.ts'

interface Meanwhile {
  readonly what: string
  readonly by: string
  /** A decision limited by the daily budget is never steady. */
  readonly scarce?: true
  readonly budget?: true
  /** Budget of its list for the month. */
  readonly list?: number
  /** Maximum calls in flight. */
  readonly cap?: number
  /** Fall of the balance per call in excess of its bill. */
  readonly external?: number
}

const overtakers: readonly Meanwhile[] = [
  { what: 'the lease ran out', by: `update workers set lease_until = now() - interval '1 second'` },
  { what: 'the worker was closed', by: `update workers set stopped_at = now()` },
  {
    what: 'a task ended',
    by: `update tasks set state = 'cancelled', finished_at = now() where id = 2`,
  },
  { what: 'the run was closed', by: `update runs set state = 'cancelled', finished_at = now()` },
  { what: 'another account asks a task', by: call(2, 2) },
  { what: 'the account asks the query for another task', by: call(4, 1, 2) },
  {
    what: 'the account asks the query for another task, while no run reuses answers',
    by: `update runs set max_age_ms = 0; ${call(4, 1, 2)}`,
  },
  { what: 'another account asks the query for another task', by: call(4, 2, 2) },
  {
    what: 'an account of another kind asks a task',
    by: `update accounts set kind = 'test' where id = 2; ${call(2, 2)}`,
  },
  {
    what: 'another key took the place of its own',
    by: `update accounts set keys = '{other}' where id = 1`,
  },
  {
    what: 'its key turned out to be of another account',
    by: `update accounts set foreign_keys = '{key}' where id = 1`,
  },
  {
    what: 'the balance fell for each call in flight beyond what bills say',
    external: 3,
    by: `update accounts set obs_remaining = 123 where id = 1`,
  },
  { what: 'a query was answered', by: answer(2) },
  { what: 'the budget of the run was drawn on', by: `update runs set spent = 1`, budget: true },
  { what: 'the run was given a budget', by: 'update runs set budget = 1000' },
  { what: 'the budget of the run was lowered', by: 'update runs set budget = 90', budget: true },
  {
    what: 'anything was written, where credit is scarce',
    by: `update accounts set blind_calls = blind_calls where id = 1`,
    scarce: true,
  },
  {
    what: 'another run drew on the budget of its list',
    by: `insert into runs (list_id, run_date, kind, state, spent) values (1, current_date, 'nightly', 'open', 1)`,
    list: 100,
  },
  { what: 'its list was given a budget', by: 'update lists set budget = 1000' },
  { what: 'the budget of its list was lowered', by: 'update lists set budget = 90', list: 100 },
  { what: 'another month began', by: `update accounts set month = '2027-02-01' where id = 1` },
  {
    what: 'others filled the cap on calls in flight',
    by: 'update accounts set in_flight = 6 where id = 1',
    cap: 8,
  },
  { what: 'the account drained', by: `update accounts set drained_floor = 0 where id = 1` },
  {
    what: 'the API asked to wait',
    by: `update accounts set not_before = now() + interval '1 hour' where id = 1`,
  },
  { what: 'the key was refused', by: `update accounts set blocked_keys = '{key}' where id = 1` },
  { what: 'another day began', by: `update accounts set day = '2027-01-16' where id = 1` },
  {
    what: 'such calls became dearer',
    by: `update account_costs set recent_first = 6; update accounts set seq = seq where id = 1`,
  },
  {
    what: 'others reserved what was left above the floor',
    by: `update accounts set reserved = 9886 where id = 1`,
  },
  {
    what: 'a worker with a higher floor came, and others reserved',
    by: `
      insert into workers (account_id, host, pid, floor, concurrency, lease_until)
      values (1, 'there', 1, 9986, 4, now() + interval '1 hour');
      update accounts set seq = seq where id = 1`,
  },
]

describe('a reservation', () => {
  test.each(overtakers)(
    'is not written if in the meantime $what',
    async ({ by, scarce, budget, list, cap, external }) => {
      const desk = await openDesk()
      if (budget === true) await desk.meanwhile('update runs set budget = 100')
      if (list !== undefined) await desk.meanwhile(`update lists set budget = ${list}`)
      if (external !== undefined) {
        await desk.meanwhile(
          `update accounts set external_now = ${external}, external_last = ${external} where id = 1`,
        )
      }
      const more = scarce === true ? { dailyBudget: 1_000 } : {}
      const reservation = await desk.decide({ ...more, mostInFlight: cap ?? null })
      expect(reservation.grants).toHaveLength(3)
      expect(reservation.steady).toBe(scarce !== true)
      await desk.meanwhile(by)
      const before = await desk.account()
      expect(await saveReservation(desk.db, reservation)).toBeNull()
      expect(await desk.account()).toEqual(before)
    },
  )

  test('with sufficient credits is written beside other changes, and changes nothing of them', async () => {
    const desk = await openDesk()
    const reservation = await desk.decide()
    await desk.meanwhile(
      'update accounts set seq = 50, reserved = 9885, in_flight = 2, day_spent = 20, used_total = 230 where id = 1',
    )
    const calls = await saveReservation(desk.db, reservation)
    expect(new Set(calls?.keys())).toEqual(new Set([1, 2, 3]))
    expect(await desk.account()).toMatchObject({
      ...{ seq: 53, reserved: 9_900, inFlight: 5, day, daySpent: 20 },
      drainedFloor: null,
    })
    expect(
      await desk.rows(
        'select task_id as task, start_seq as seq, start_total as total, mark from calls order by id',
      ),
    ).toEqual(
      reservation.grants.map(({ task, mark, place }) => ({
        task,
        seq: 50 + place,
        total: 230,
        mark,
      })),
    )
    expect(await desk.rows('select reserved from runs')).toEqual([{ reserved: 15 }])
  })

  test('keeps the calls in flight of a run without budget left, and ends its other tasks', async () => {
    const desk = await openDesk()
    await desk.meanwhile(`update runs set budget = 8, spent = 8; ${call(4, 2)}`)
    const reservation = await desk.decide({}, [1, 2])
    expect(reservation).toMatchObject({ grants: [], spent_runs: [1] })
    await saveReservation(desk.db, reservation)
    expect(await desk.rows('select state from tasks order by id')).toEqual(
      ['unaffordable', 'unaffordable', 'unaffordable', 'open'].map((state) => ({ state })),
    )
  })

  test.each([
    { what: 'that is there', by: answer(4) },
    { what: 'that another run is getting', by: call(5, 1, 4) },
    { what: 'that was lost a moment ago', by: lost(4, '1 minute') },
  ])('leaves a task of a run without budget left open for an answer $what', async ({ by }) => {
    const desk = await openDesk()
    await desk.meanwhile(`update runs set budget = 8, spent = 8; ${by}`)
    await saveReservation(desk.db, await desk.decide({}, [1, 2]))
    expect(await desk.rows('select state from tasks order by id')).toEqual(
      ['unaffordable', 'unaffordable', 'unaffordable', 'open'].map((state) => ({ state })),
    )
  })

  test.each([
    {
      what: 'too old',
      by: `${answer(4)}; update searches set fetched_at = now() - interval '2 days'`,
    },
    { what: 'not what was asked for', by: `${answer(4)}; update tasks set answers_after = now()` },
    { what: 'of a test account', by: `${answer(4)}; update searches set origin = 'test'` },
    { what: 'of another API', by: `${answer(4)}; update searches set api = 'elsewhere'` },
    { what: 'never taken', by: `${answer(4)}; ${call(5, 1, 4)}; update runs set max_age_ms = 0` },
    { what: 'lost long ago', by: lost(4, '3 minutes') },
  ])(
    'ends a task of a run without budget left although there is an answer $what',
    async ({ by }) => {
      const desk = await openDesk()
      await desk.meanwhile(`update runs set budget = 8, spent = 8; ${by}`)
      await saveReservation(desk.db, await desk.decide({}, [1, 2]))
      expect(await desk.rows('select distinct state from tasks')).toEqual([
        { state: 'unaffordable' },
      ])
    },
  )

  test('ends no task that was answered since it was read', async () => {
    const desk = await openDesk()
    await desk.meanwhile('update runs set budget = 8, spent = 8')
    const reservation = await desk.decide({}, [1, 2])
    await desk.meanwhile(answer(2))
    expect(await saveReservation(desk.db, reservation)).toBeNull()
    const again = await desk.decide({}, [1, 2])
    expect(again).toMatchObject({ given_up: [1], reused: [{ task: 2, search: 7 }] })
    await saveReservation(desk.db, again)
    expect(await desk.rows('select state from tasks order by id')).toEqual(
      ['unaffordable', 'reused', 'unaffordable', 'unaffordable'].map((state) => ({ state })),
    )
  })

  test('ends a limited number of tasks of a run at once, those that come next first', async () => {
    const desk = await openDesk()
    await desk.meanwhile(`
      insert into tasks (run_id, query_id, slice) select 1, gen_random_uuid(), n from generate_series(1, 6000) n;
      update runs set budget = 8, spent = 8`)
    const left = () =>
      desk.rows<{ n: number }>(`select count(*) as n from tasks where state = 'open'`)
    await saveReservation(desk.db, await desk.decide({}, [1000, 6004]))
    expect(await left()).toEqual([{ n: 6004 - 2001 }])
    expect(
      await desk.rows(
        `select min(slice) as first, max(slice) as last from tasks where state = 'unaffordable' and id < 6004`,
      ),
    ).toEqual([{ first: 996, last: 2995 }])
    let turns = 0
    for (; turns < 5; turns += 1) {
      const [next] = await desk.rows<{ id: number }>(
        `select id from tasks where state = 'open' order by id limit 1`,
      )
      if (next === undefined) break
      await saveReservation(desk.db, await desk.decide({}, [next.id]))
    }
    expect(turns).toBe(3)
    expect(await left()).toEqual([{ n: 0 }])
  })

  test('names the budget of the list if that is used up, and counts no run of another month', async () => {
    const desk = await openDesk()
    await desk.meanwhile(`
      update lists set budget = 12;
      update runs set spent = 4;
      insert into runs (list_id, run_date, kind, state, spent)
      values (1, current_date, 'nightly', 'done', 6), (1, current_date - 40, 'nightly', 'done', 900)`)
    const reservation = await desk.decide({}, [1, 2])
    expect(reservation).toMatchObject({ grants: [], spent_runs: [1], spent_by_list: [1] })
    await saveReservation(desk.db, reservation)
    expect(await desk.rows('select distinct state, error_code as code from tasks')).toEqual([
      { state: 'unaffordable', code: 'LIST_BUDGET' },
    ])
  })

  test('counts calls in flight of other runs of the month on the budget of the list, and nothing of another month', async () => {
    const desk = await openDesk()
    const month = (last: boolean) =>
      `date_trunc('year', current_date) + interval '1 month' * (extract(month from current_date) - 1 + ${last ? `case when extract(month from current_date) = 1 then 1 else -1 end` : 0})`
    const other = (last: boolean) => `
      insert into runs (list_id, run_date, kind, state, reserved)
      values (1, ${month(last)}, 'nightly', 'open', 990)`
    await desk.meanwhile(`update lists set budget = 1000; ${other(true)}`)
    expect((await desk.decide()).grants).toHaveLength(3)
    await desk.meanwhile(other(false))
    expect((await desk.decide()).grants).toHaveLength(2)
  })

  test('respects the floor of the bundled service’s account, too', async () => {
    const desk = await openDesk()
    await desk.meanwhile('update accounts set obs_remaining = 111 where id = 1')
    expect((await desk.decide({ origin: 'sandbox' })).grants).toHaveLength(2)
  })

  test('starts a month, then counts what ends in it, and stores since when', async () => {
    const desk = await openDesk()
    await desk.meanwhile(`update accounts set month = '2026-12-01', month_spent = 70 where id = 1`)
    const reservation = await desk.decide()
    await saveReservation(desk.db, reservation)
    expect(await desk.account()).toMatchObject({ month: '2027-01-01', monthSpent: 0 })
    expect(
      await desk.rows(
        'select month_since <= clock_timestamp() as begun from accounts where id = 1',
      ),
    ).toEqual([{ begun: true }])
  })

  test('for reading the balance is written below the floor', async () => {
    const desk = await openDesk()
    await desk.meanwhile(
      `update accounts set obs_remaining = 90, drained_floor = 100, probe_granted = true where id = 1`,
    )
    const reservation = await desk.decide({}, [1])
    expect(reservation.grants).toMatchObject([{ probe: true }])
    expect((await saveReservation(desk.db, reservation))?.size).toBe(1)
    expect(await desk.account()).toMatchObject({
      probeGranted: true,
      blindCalls: 1,
      reserved: 5,
    })
  })
})

/** The answer cannot be read, and an earlier one can. */
const older = `
  update searches set parse_error = 'no JSON';
  insert into searches (id, query_id, task_id, call_id, origin, api, fetched_at)
  select 6, query_id, 98, 6, origin, api, fetched_at - interval '1 hour' from searches`

describe('a waiting task', () => {
  test('is busy while its query is in flight for another task of the account, or for another account whose answer may be reused', async () => {
    const desk = await openDesk()
    expect(await desk.waiting()).toMatchObject({ busy: false })
    await desk.meanwhile(call(3, 2, 1))
    expect(await desk.waiting()).toMatchObject({ busy: true })
    await desk.meanwhile('update runs set max_age_ms = 0')
    expect(await desk.waiting()).toMatchObject({ busy: false })
    await desk.meanwhile(call(4, 1, 1))
    expect(await desk.waiting()).toMatchObject({ busy: true })
  })

  test('is busy while its own call is in flight, even for an account of another kind', async () => {
    const desk = await openDesk()
    await desk.meanwhile(`update accounts set kind = 'test' where id = 2; ${call(1, 2)}`)
    expect(await desk.waiting()).toMatchObject({ busy: true })
  })

  test.each([
    ['and takes it', '', 7],
    ['although it cannot be read', `update searches set parse_error = 'no JSON'`, 7],
    ['the newest that can be read', older, 6],
    ['unless another API gave it', `update searches set api = 'other.example.com'`, null],
    ['unless another origin gave it', `update searches set origin = 'test'`, null],
    ['unless it is too old', `update searches set fetched_at = now() - interval '2 days'`, null],
    ['unless it was opened to be bought since', 'update tasks set answers_after = now()', null],
  ] as const)('finds an answer to its query, %s', async (_, more, fresh) => {
    const desk = await openDesk()
    await desk.meanwhile(answer(1, more))
    expect(await desk.waiting()).toMatchObject({ fresh })
  })
})

test('a decision made before a failover is not written, and the next call goes alone until one of its own reports a balance', async () => {
  const desk = await openDesk()
  const before = await desk.decide()
  expect(before).toMatchObject({ steady: true, grants: [{}, {}, {}] })
  await desk.meanwhile(`update accounts set history = 'of another server' where id = 1`)
  expect(await saveReservation(desk.db, before)).toBeNull()
  const look = await desk.decide()
  expect(look.grants).toMatchObject([{ probe: true }])
  expect(await saveReservation(desk.db, look)).not.toBeNull()
  // An answer to an earlier call shows nothing about the lost calls.
  await desk.meanwhile(
    'update accounts set in_flight = 0, reserved = 0, blind_calls = 0, last_probe_at = null',
  )
  expect((await desk.decide({}, [2, 3])).grants).toMatchObject([{ probe: true }])
  await desk.meanwhile('update accounts set obs_seq = 41 where id = 1')
  expect((await desk.decide({}, [2, 3])).grants).toMatchObject([{ probe: false }, { probe: false }])
})

test('a test account, which has no floor, continues after a failover', async () => {
  const desk = await openDesk()
  await desk.meanwhile(`update accounts set history = 'of another server' where id = 1`)
  const decided = await desk.decide({ origin: 'test' })
  expect(decided.grants).toHaveLength(3)
  expect(await saveReservation(desk.db, decided)).not.toBeNull()
})
