import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { claimLost, saveReplay } from '../../../src/core/ledger/waiting.ts'
import { lost, openDesk } from './desk.ts'

test('a lost answer is requested again after increasing pauses, and never twice at once', async () => {
  const { db, meanwhile } = await openDesk()
  await meanwhile(`
    insert into queries (id, key, q, num)
    select '00000000-0000-0000-0000-000000000001', repeat('a', 64), 'one', 10;
    insert into slices (run_id, slice, priority) values (1, 0, 5);
    ${lost(1, '1 second')};
    update calls set account_id = 1, mark = gen_random_uuid()`)
  await saveReplay(db, 1, 86_400_000)
  const claim = async () => (await claimLost(db, { account: 1, limit: 5 })).length
  const pass = (ms: number) =>
    sql`update calls set asked_again_at = asked_again_at - ${ms} * interval '1 millisecond'`.execute(
      db,
    )
  expect(await claim()).toBe(1)
  for (const pauseMs of [500, 1_000, 2_000]) {
    expect(await claim()).toBe(0)
    await pass(pauseMs)
    expect(await claim()).toBe(1)
  }
})

test('repeated answers of an API that answered another query are not trusted again, whatever it announces', async () => {
  const { db, meanwhile, rows } = await openDesk()
  await meanwhile('update accounts set wrong_answers = 1')
  await saveReplay(db, 1, 86_400_000)
  expect(await rows('select replay_ms from accounts where id = 1')).toEqual([{ replay_ms: null }])
})
