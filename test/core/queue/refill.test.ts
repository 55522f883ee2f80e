import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/base/database/database.ts'
import { listOpenSlices } from '../../../src/core/queue/open-slices.ts'
import { refill } from '../../../src/core/queue/refill.ts'
import type { SliceQueue } from '../../../src/core/queue/slice-jobs.ts'
import { freshDatabase } from '../../support/database.ts'

const slices = 8_500
const limit = 2_000

describe('refilling the queue of a run with thousands of open slices', () => {
  let db: Database

  beforeAll(async () => {
    const fresh = await freshDatabase()
    db = fresh.db
    await sql`insert into lists (name, source) values ('list', 'list.csv')`.execute(db)
    await sql`
      insert into runs (list_id, run_date, kind, state)
      values (1, current_date, 'manual', 'open')`.execute(db)
    await sql`
      insert into slices (run_id, slice, priority)
      select 1, n, 5 from generate_series(1, ${slices}::int) n`.execute(db)
    await sql`
      insert into tasks (run_id, query_id, slice)
      select 1, gen_random_uuid(), n from generate_series(1, ${slices}::int) n`.execute(db)
    return fresh.close
  })

  test('delivers each slice once, and reports the number of delivered ones', async () => {
    const arrived: number[] = []
    const handedOver: number[] = []
    const queue: Pick<SliceQueue, 'add'> = {
      add: async (page) => void arrived.push(...page.map(({ slice }) => slice)),
    }
    expect(await refill(queue, { db, onPage: (count) => handedOver.push(count) })).toBe(slices)
    expect(arrived).toEqual(Array.from({ length: slices }, (_, index) => index + 1))
    expect(handedOver).toEqual(handedOver.toSorted((one, other) => one - other))
    expect(handedOver.at(-1)).toBe(slices)
  })

  test('adds two pages concurrently, and never a third', async () => {
    let flying = 0
    let most = 0
    const queue: Pick<SliceQueue, 'add'> = {
      add: async () => {
        flying += 1
        most = Math.max(most, flying)
        // As long as reading several more pages takes.
        for (let turn = 0; turn < 4; turn += 1) await listOpenSlices(db, { after: null, limit })
        flying -= 1
      },
    }
    expect(await refill(queue, { db })).toBe(slices)
    expect(most).toBe(2)
  })

  test('fails when a page cannot be added', async () => {
    let pages = 0
    const queue: Pick<SliceQueue, 'add'> = {
      add: async () => {
        pages += 1
        if (pages === 2) throw new Error('the queue is away')
      },
    }
    await expect(refill(queue, { db })).rejects.toThrow('the queue is away')
  })
})
