import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../../../../support/database.ts'
import { openDesk, type TestDesk } from '../../../../support/desk.ts'

let database: FreshDatabase
let desk: TestDesk

beforeAll(async () => {
  database = await freshDatabase()
  desk = await openDesk(database.url)
})
afterAll(async () => {
  await desk.close()
  await database.close()
})

describe('tonight', () => {
  test('with nothing in the tables it says what to type', async () => {
    const { status, text } = await desk.get('/')
    expect(status).toBe(200)
    expect(text).toContain('npm run enqueue inputs/keywords.csv')
  })
})
