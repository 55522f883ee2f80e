// @module-tag slow
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { patienceMs } from '../../support/patience.ts'
import { openScene, queries } from '../../support/scene.ts'

test('jobs held or delayed by a dead worker whose clock ran a day ahead are delivered again', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(50))
  const { rows } = await sql<{ id: string }>`select id from bullmq.job order by id`.execute(mill.db)
  expect(rows).toHaveLength(2)
  // As left by a worker that was killed while its clock was a day ahead.
  await sql`
    update bullmq.job
    set state = 'active', lock_token = 'dead', attempts_started = 1,
      locked_until_ms = (extract(epoch from now() + interval '1 day') * 1000)::bigint
    where id = ${rows[0]?.id}`.execute(mill.db)
  await sql`
    update bullmq.job
    set state = 'delayed', delay_ms = 1000,
      process_at_ms = (extract(epoch from now() + interval '1 day') * 1000)::bigint
    where id = ${rows[1]?.id}`.execute(mill.db)
  await sql`
    insert into bullmq.meta (queue, field, value)
    values ('slices', 'stalled-check', (extract(epoch from now() + interval '1 day') * 1000)::bigint::text)
    on conflict (queue, field) do update set value = excluded.value`.execute(mill.db)
  expect(await mill.drain({ signal: AbortSignal.timeout(patienceMs) })).toMatchObject({
    finish: 'completed',
    answered: 50,
  })
})

test('a lock a few seconds further ahead than a correct clock writes is reduced to what a live worker needs, and others stay', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(50))
  const lock = (job: number, aheadMs: number) =>
    sql`
    update bullmq.job
    set state = 'active', lock_token = 'somebody',
      locked_until_ms = (extract(epoch from clock_timestamp()) * 1000)::bigint + ${aheadMs}
    where id = (select id from bullmq.job order by id offset ${job} limit 1)`.execute(mill.db)
  await lock(0, 10_000)
  await lock(1, 6_000)
  await (await mill.queue()).repair()
  const { rows } = await sql<{ ahead: number }>`
    select (locked_until_ms - extract(epoch from clock_timestamp()) * 1000)::float8 as ahead
    from bullmq.job
    order by id`.execute(mill.db)
  // Longer than half of a lock, when it is renewed, and shorter than that plus a second.
  expect(rows[0]?.ahead).toBeLessThan(4_000)
  expect(rows[1]?.ahead).toBeGreaterThan(4_000)
})
