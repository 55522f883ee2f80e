// const desk = await openDesk(): an account with 10,000 credits and a known price of 5, a worker with a floor of 100,
// and a run with open tasks, each with a different query. `desk.decide(more)` is the decision that would be written now
// for tasks 1 to 3; `desk.meanwhile(sql)` runs a change by another process before it is written.
import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import { readBooks } from '../../../src/core/ledger/books.ts'
import {
  decideAdmission,
  prepareAdmission,
  reservationOf,
  type Spender,
  type Reservation,
} from '../../../src/core/ledger/reserve.ts'
import { readWaiting } from '../../../src/core/ledger/waiting.ts'
import { freshDatabase } from '../../support/database.ts'
import { spender } from './books.ts'

export const day = '2027-01-15'
const month = '2027-01-01'

export async function openDesk() {
  const { db, close } = await freshDatabase()
  onTestFinished(close)
  await sql`insert into lists (name, source) values ('list', 'list.csv')`.execute(db)
  await sql`
    insert into accounts (name, kind, seq, used_total, obs_seq, obs_at, obs_remaining, day, day_spent, month)
    values
      ('one', 'live', 40, 200, 40, now(), 10000, ${day}, 7, ${month}),
      ('two', 'live', 0, 0, null, null, null, null, 0, null)`.execute(db)
  await sql`
    insert into account_costs (account_id, class, dearest, cheapest, seen, earlier_first, earlier_second, earlier_count)
    values (1, '10/-', 5, 5, 30, 5, 5, 30)`.execute(db)
  await sql`
    insert into workers (account_id, host, pid, floor, concurrency, lease_until)
    values (1, 'here', 1, 100, 4, now() + interval '1 hour')`.execute(db)
  await sql`
    insert into runs (list_id, run_date, kind, state, max_age_ms)
    values (1, current_date, 'manual', 'open', 86400000)`.execute(db)
  await sql`
    insert into tasks (run_id, query_id, slice)
    select 1, ('00000000-0000-0000-0000-00000000000' || n)::uuid, 0 from generate_series(1, 4) n`.execute(
    db,
  )
  const look = async (more: Partial<Spender>, tasks: readonly number[]) => {
    const who = spender({
      dayOf: () => ({ day, ends: 4_000_000_000_000 }),
      monthOf: () => ({ month, ends: 4_000_000_000_000 }),
      ...more,
    })
    const books = await readBooks(db, 1)
    const waiting = await readWaiting(db, { ...who, tasks })
    return { who, books, waiting }
  }
  return {
    db,
    meanwhile: (statement: string) => sql.raw(statement).execute(db),
    waiting: async (task = 1) => {
      const { waiting } = await look({}, [task])
      return waiting.tasks[0]
    },
    decide: async (more: Partial<Spender> = {}, tasks = [1, 2, 3]): Promise<Reservation> => {
      const { who, books, waiting } = await look(more, tasks)
      const requested = tasks.map((task) => ({ task, class: '10/-', priority: 5 }))
      const read = { requested, books, tasks: waiting.tasks }
      const reservation = reservationOf(
        who,
        decideAdmission(prepareAdmission(who, read), new Map()),
      )
      if (reservation === null) throw new Error('expected a decision that changes something')
      return reservation
    },
    account: async () => (await readBooks(db, 1)).account,
    rows: async <T>(text: string) => (await sql.raw<T>(text).execute(db)).rows,
  }
}

/** A call of a task, in flight. */
export const call = (task: number, account: number, query = task) => `
  insert into calls (task_id, query_id, account_id, worker, sent_at, start_seq, start_total, credits_reserved, class)
  values (${task}, '00000000-0000-0000-0000-00000000000${query}', ${account}, 1, now(), 99, 0, 1, '10/-')`

/** A call of a task whose answer was lost. */
export const lost = (task: number, ago: string) =>
  `${call(task, 2)};
  update calls
  set outcome = 'unknown', finished_at = now() - interval '${ago}', unknown_at = now() - interval '${ago}'`

/** An answer to the query of a task. */
export const answer = (query: number, more = '') => `
  insert into searches (id, query_id, task_id, call_id, origin, api, fetched_at)
  values (7, '00000000-0000-0000-0000-00000000000${query}', 99, 7, 'live', 'api.example.com', now());
  ${more}`
