// @module-tag slow
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { verifyPromises } from '../support/promises.ts'
import type { TestMill } from '../support/mill.ts'
import { openScene } from '../support/scene.ts'

const young = { maxAgeMs: 3_600_000 }
const bought = 'no query was bought while a recent answer could be reused'

test('an unreadable answer is not bought again while it is recent, in any run', async () => {
  const { api, mill } = await openScene({ api: { faults: [{ kind: 'body', body: 'html' }] } })
  await mill.plan(['shoes', 'socks'], young)
  const first = await mill.drain()
  expect(first).toMatchObject({ calls: 2, unreadable: 2 })
  await mill.plan(['socks', 'shoes'], { ...young, list: 'other' })
  const second = await mill.drain()
  expect(second).toMatchObject({ calls: 0, reused: 2 })
  expect(api.books.entries).toHaveLength(2)
  expect(await broken(mill)).toEqual([])
})

test('a query that was bought although a recent answer existed is found by verify, readable or not', async () => {
  const { mill } = await openScene({ api: { faults: [{ kind: 'body', body: 'html', only: [1] }] } })
  await mill.plan(['shoes'], young)
  await mill.drain()
  await mill.plan(['shoes'], { list: 'other' })
  await mill.drain()
  expect(await broken(mill)).toEqual([])
  await sql`update calls set max_age_ms = 3600000, sent_at = sent_at + interval '5 seconds', finished_at = finished_at + interval '5 seconds' where id = 2`.execute(
    mill.db,
  )
  expect(await broken(mill)).toEqual([bought])
})

async function broken({ db }: TestMill): Promise<string[]> {
  const checks = await verifyPromises(db)
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}
