import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findSubject, blockerSentence } from '../../../src/features/forget/command.ts'
import { type Blockers, readBlockers } from '../../../src/features/forget/subject.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { openScene } from '../../support/scene.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

describe('the subject of a forget', () => {
  test.each([
    [{}, 'expected one of --list NAME'],
    [{ list: 'a', query: 'b' }, 'got both'],
  ])('is refused for %j', async (flags, reason) => {
    await expect(findSubject(database.db, flags)).rejects.toThrow(reason)
  })

  test('is every query with a text', async () => {
    const { mill } = await openScene()
    await mill.plan([{ q: 'shoes' }, { q: 'shoes', gl: 'us' }, { q: 'Shoes' }])
    const every = await findSubject(mill.db, { query: ' shoes ' })
    expect(every?.subject).toMatchObject({ q: 'shoes' })
    expect(every?.queries).toHaveLength(2)
    expect(await findSubject(mill.db, { query: 'boots' })).toBeNull()
  })
})

describe('obstacles to forgetting', () => {
  const list = { id: 1, name: 'test' }
  const whole = { kind: 'list', list } as const
  const said = (way: Blockers) => blockerSentence(whole, way)

  test('are open runs, pending answers and schedules, each with what to do about it', async () => {
    const { mill } = await openScene()
    await mill.plan(['zeppelin one'])
    const { rows } = await sql<{ id: string }>`select id from queries`.execute(mill.db)
    const queries = { kind: 'query', q: 'zeppelin one', ids: rows.map(({ id }) => id) } as const
    for (const subject of [whole, queries]) {
      const way = await readBlockers(mill.db, subject)
      expect(way).toEqual({ runs: [1], calls: 0, schedules: [] })
      expect(said(way)).toContain('npm run cancel -- --run 1 --yes')
    }
    await mill.drain()
    expect(said(await readBlockers(mill.db, whole))).toBeNull()

    await sql`
      update calls set outcome = 'unknown', unknown_at = clock_timestamp() - interval '9 minutes'`.execute(
      mill.db,
    )
    for (const subject of [whole, queries]) {
      const way = await readBlockers(mill.db, subject)
      expect(way).toEqual({ runs: [], calls: 1, schedules: [] })
      expect(said(way)).toContain('try again in 10 minutes')
    }
    await sql`update calls set unknown_at = clock_timestamp() - interval '11 minutes'`.execute(
      mill.db,
    )
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
      values ('nightly', 'test', '0 2 * * *', 'UTC', 'all', 'skip', true, now(), now())`.execute(
      mill.db,
    )
    expect(said(await readBlockers(mill.db, whole))).toContain(
      'the schedule nightly would read list',
    )
  })
})
