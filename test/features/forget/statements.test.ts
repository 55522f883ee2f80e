// @module-tag slow
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import {
  countSubject,
  finishForgetting,
  forgetSubject,
  sealList,
} from '../../../src/features/forget/forget.ts'
import {
  countLeft,
  findHeldQueries,
  findLivingList,
  type Forgettable,
} from '../../../src/features/forget/subject.ts'
import type { DeletedRows } from '../../../src/features/forget/texts.ts'
import { startFaulty } from '../../faults/api/standin.ts'
import { copyOf, type FreshDatabase } from '../../support/database.ts'
import { type TestMill, testMill } from '../../support/mill.ts'
import { whereFound } from '../../support/sweep.ts'
import { seed } from '../expand/seed.ts'
import { brokenIn, hashOf, livedTwoNights, moneyOf } from './scene.ts'

let api: Awaited<ReturnType<typeof startFaulty>>
let lived: FreshDatabase
let mill: TestMill

beforeAll(async () => {
  api = await startFaulty({ seed: 'forgotten', credits: 10_000, kind: 'live', cost: 1 })
  lived = await livedTwoNights(api)
})

afterAll(() => api.close())

beforeEach(async () => {
  mill = await testMill({ api, database: await copyOf(lived.url) })
})

afterEach(() => mill.close())

const silent = () => undefined

async function listOf(name: string): Promise<Forgettable> {
  const list = await findLivingList(mill.db, name)
  if (list === null) throw new Error(`expected list ${name}, got none`)
  return { kind: 'list', list }
}

async function queryOf(q: string): Promise<Forgettable> {
  const ids = (await findHeldQueries(mill.db, q)).map(({ id }) => id)
  return { kind: 'query', q, ids }
}

async function forgetWholly(subject: Forgettable): Promise<DeletedRows> {
  const gone = await forgetSubject(mill.db, subject, silent)
  if (subject.kind === 'list' && !(await sealList(mill.db, subject.list)))
    throw new Error('expected the list to end')
  return gone
}

async function answersTo(q: string): Promise<number> {
  const { rows } = await sql`
    select from searches s join queries q on q.id = s.query_id where q.q = ${q}`.execute(mill.db)
  return rows.length
}

/** False if it was killed. */
const once = (work: () => Promise<unknown>) => async () => {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof Error && error.message === 'killed') return false
    throw error
  }
}

describe('a forgotten list', () => {
  test('is named nowhere, nor are queries that only it contained, and every credit stays explained', async () => {
    const before = await moneyOf(mill.db)
    await forgetWholly(await listOf('airships'))
    expect(await whereFound(mill.db, 'airships')).toEqual([])
    // Notes of analysts and answers of other lists remain.
    expect(await whereFound(mill.db, 'zeppelin')).toEqual([
      'notes.annotations.text',
      'public.raw_answers.body',
      'public.related_searches.q',
      'public.stops.detail',
    ])
    expect(await moneyOf(mill.db)).toEqual(before)
    expect(await brokenIn(mill.db)).toEqual([])
    expect(await countLeft(mill.db)).toEqual({ queries: 0, words: 0 })
  })

  test('leaves a ledger that passes every check', async () => {
    expect(await brokenIn(mill.db)).toEqual([])
  })

  test('stores no late answer any more, because its calls have no marks', async () => {
    const marks = async () => {
      const { rows } = await sql<{ id: number; mark: string }>`select id, mark from calls`.execute(
        mill.db,
      )
      return new Map(rows.map(({ id, mark }) => [id, mark]))
    }
    const before = await marks()
    await forgetWholly(await listOf('airships'))
    const changed = [...(await marks())].filter(([id, mark]) => mark !== before.get(id))
    // Two nights of two queries; those that boots also contains are unchanged.
    expect(changed).toHaveLength(4)
  })

  test('leaves a query of another list, with all its answers', async () => {
    expect(await answersTo('common thing')).toBe(4)
    await forgetWholly(await listOf('airships'))
    expect(await answersTo('common thing')).toBe(4)
    expect(await answersTo('walking boots')).toBe(2)
    await finishDays(mill.db)
    const { rows } = await sql`select distinct list from analysis.memberships order by 1`.execute(
      mill.db,
    )
    expect(rows).toEqual([{ list: 'boots' }, { list: expect.stringMatching(/^forgotten-\d+$/) }])
    expect(await brokenIn(mill.db)).toEqual([])
  })

  test('leaves no view that fails', async () => {
    await forgetWholly(await listOf('airships'))
    const { rows } = await sql<{ name: string }>`
      select viewname as name from pg_views where schemaname = 'analysis'`.execute(mill.db)
    expect(rows.length).toBeGreaterThan(50)
    await mill.db.transaction().execute(async (trx) => {
      await sql`set local jit = off`.execute(trx)
      for (const { name } of rows) {
        await sql`select * from ${sql.table(`analysis.${name}`)}`.execute(trx)
      }
    })
  })

  test('includes what it shared only with a list that was forgotten before', async () => {
    const before = await moneyOf(mill.db)
    await forgetWholly(await listOf('airships'))
    await forgetWholly(await listOf('boots'))
    for (const q of ['zeppelin one', 'common thing', 'walking boots']) {
      expect([q, await answersTo(q)]).toEqual([q, 0])
    }
    expect(await whereFound(mill.db, 'common thing')).toEqual([])
    expect(await moneyOf(mill.db)).toEqual(before)
    expect(await brokenIn(mill.db)).toEqual([])
  })

  test('is new when it is read again, and its queries are bought again', async () => {
    await forgetWholly(await listOf('airships'))
    await seed(mill, 'airships', ['zeppelin one'])
    expect(await answersTo('zeppelin one')).toBe(1)
    await finishDays(mill.db)
    expect(await brokenIn(mill.db)).toEqual([])
  })
})

describe('a forgotten query', () => {
  test('is named nowhere, not even as a related search of another, and every credit stays explained', async () => {
    const before = await moneyOf(mill.db)
    await forgetWholly(await queryOf('zeppelin one'))
    expect(await whereFound(mill.db, 'zeppelin one')).toEqual([])
    expect(await answersTo('zeppelin two')).toBe(2)
    expect(await moneyOf(mill.db)).toEqual(before)
    expect(await brokenIn(mill.db)).toEqual([])
  })

  test('is removed from every list that contains it', async () => {
    await forgetWholly(await queryOf('common thing'))
    expect(await whereFound(mill.db, 'common thing')).toEqual([])
    expect(await brokenIn(mill.db)).toEqual([])
  })
})

describe('forgetting', () => {
  test.each(['list', 'query'] as const)(
    'a %s changes nothing while rows are only counted',
    async (kind) => {
      const subjects = {
        list: await listOf('airships'),
        query: await queryOf('zeppelin one'),
      }
      const before = await hashOf(mill.db)
      const counted = await countSubject(mill.db, subjects[kind])
      expect(await hashOf(mill.db)).toEqual(before)
      const gone = await forgetWholly(subjects[kind])
      for (const table of [
        ...['organic_results', 'searches', 'queries', 'tasks', 'calls'],
        ...['list_queries', 'cadences', 'alerts', 'notices', 'quarantine', 'trust_marks'],
      ]) {
        expect([table, counted[table] ?? 0]).toEqual([table, gone[table] ?? 0])
      }
    },
  )

  test('that is interrupted after each of its batches passes every check, and continues from there', async () => {
    const before = await moneyOf(mill.db)
    const list = await listOf('airships')
    const breaks: DeletedRows[] = []
    const breaking = (gone: DeletedRows) => {
      if (Object.values(gone).every((rows) => rows === 0)) return
      breaks.push(gone)
      throw new Error('killed')
    }
    const tries = Array.from({ length: 40 }, () =>
      once(() => forgetSubject(mill.db, list, breaking)),
    )
    for (const attempt of tries) {
      const done = await attempt()
      expect(await brokenIn(mill.db)).toEqual([])
      if (done) break
    }
    expect(breaks.length).toBeGreaterThan(2)
    if (list.kind === 'list') await sealList(mill.db, list.list)
    expect(await whereFound(mill.db, 'airships')).toEqual([])
    expect(await moneyOf(mill.db)).toEqual(before)
  })

  test('that was interrupted after the query was gone is completed by the next one', async () => {
    await sql`
      insert into forgetting_queries (query_id) select id from queries where q = 'zeppelin two'`.execute(
      mill.db,
    )
    await finishForgetting(mill.db, silent)
    expect(await whereFound(mill.db, 'zeppelin two')).toEqual([])
    expect(await brokenIn(mill.db)).toEqual([])
  })
})
