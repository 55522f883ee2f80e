import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planList } from '../../src/enqueue.ts'
import { queryId, queryKey } from '../../src/query.ts'
import { verifyPromises } from '../../src/store/verify.ts'
import { openOffice, type Office } from '../support/office.ts'

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

async function broken(): Promise<Record<string, number>> {
  const checks = await verifyPromises(office.desk.db)
  return Object.fromEntries(
    checks.filter(({ ok }) => !ok).map(({ name, violations }) => [name, violations]),
  )
}

test('a list that was planned breaks no promise', async () => {
  await planList(office.desk, await office.order('kept', 'q,gl\nmünchen "x",us\na,\n日本語,jp\n'))
  expect(await broken()).toEqual({})
})

test('a query that stands under an id of its own making is found', async () => {
  const query = { q: 'astray', location: null, hl: null, gl: null, num: 10, device: null }
  const key = queryKey(query)
  const id = queryId(queryKey({ ...query, num: 20 }))
  await office.desk.db
    .insertInto('queries')
    .values({ id, key, ...query })
    .execute()
  expect(await broken()).toEqual({ 'each query has the id of its key': 1 })
  await sql`delete from queries where id = ${id}`.execute(office.desk.db)
})
