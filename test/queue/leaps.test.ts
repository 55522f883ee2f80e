import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openScene, queries } from '../support/scene.ts'

test('what a dead worker held whose clock ran a day ahead is handed out again, and so is what it put off', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(50))
  const { rows } = await sql<{ id: string }>`select id from bullmq.job order by id`.execute(mill.db)
  expect(rows).toHaveLength(2)
  // As a worker left them that was killed while its clock was a day ahead.
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
  expect(await mill.drain({ signal: AbortSignal.timeout(50_000) })).toMatchObject({
    finish: 'completed',
    answered: 50,
  })
})
