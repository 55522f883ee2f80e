import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { StoredAnswer } from '../../../src/base/answer.ts'
import { readAnswers, storeAnswers } from '../../../src/core/answers/store.ts'
import { reparse } from '../../../src/core/runs/reparse.ts'
import { readAnswer } from '../../../src/core/search/parse.ts'
import { askQuery, paid } from '../../support/paid.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

beforeEach(async () => {
  // Declared keys prevent truncate on tables with triggers, even if they are not enforced.
  await sql`truncate searches, raw_answers, organic_results, search_clusters, search_features, tasks cascade`.execute(
    database.db,
  )
  await askQuery(database.db)
})

const shoes = {
  intent: 'buy',
  clusters: ['shoes'],
  organic_results: [{ title: 'a' }, { title: 'b' }],
}
const supplier = { origin: 'live', api: 'api.example', account: 'api.example' } as const
const books = () => ({ db: database.db, supplier })
const unread = { all: false, run: null }
const all = { all: true, run: null }

/** As left by an older program that could not read such bodies. */
function unreadable(answer: StoredAnswer): StoredAnswer {
  const { search } = answer
  if (search === null) return answer
  const empty = readAnswer(Buffer.from(''), false, '').answer
  return { ...answer, search: { ...search, answer: { ...empty, parseError: 'too new for me' } } }
}

function store(...answers: StoredAnswer[]): Promise<void> {
  return database.db.transaction().execute((trx) => storeAnswers(trx, answers))
}

async function searchOf(id: number) {
  return database.db.selectFrom('searches').selectAll().where('id', '=', id).executeTakeFirst()
}

async function features() {
  const { rows } = await sql`
    select f.ordinal, f.kind, p.url_key, d.host, f.text, f.extra
    from search_features f
    left join pages p on p.id = f.page_id
    left join domains d on d.id = f.domain_id
    order by f.search_id, f.ordinal`.execute(database.db)
  return rows
}

describe('reading bodies again', () => {
  test('adds rows to an answer that could not be read before, and does not change its cost and time', async () => {
    await store(unreadable(paid(1, shoes)), paid(2, shoes))
    const before = await searchOf(1)
    expect(await reparse(books(), unread)).toEqual({
      read: 1,
      unread: 0,
      marked: 0,
      refused: 0,
      bodiless: 0,
    })
    expect(await searchOf(1)).toEqual({
      ...before,
      intent: 'buy',
      result_count: 2,
      parse_error: null,
      as_given: { missing: ['success', 'query', 'entities', 'related_searches'] },
    })
    const rows = await readAnswers(database.db, [1, 2])
    expect(rows.get(1)).toEqual(rows.get(2))
    expect(await reparse(books(), unread)).toEqual({
      read: 0,
      unread: 0,
      marked: 0,
      refused: 0,
      bodiless: 0,
    })
  })

  test('does not change an answer that still cannot be read', async () => {
    await store(paid(1, '<html>'), unreadable(paid(2, 'null')))
    const before = await searchOf(2)
    expect(await reparse(books(), unread)).toEqual({
      read: 0,
      unread: 2,
      marked: 0,
      refused: 0,
      bodiless: 0,
    })
    expect(await searchOf(2)).toEqual(before)
  })

  test('adds the rows of blocks to an answer that was stored before these were supported, once', async () => {
    const blocks = { ads: [{ link: 'https://www.a.com/x?utm_source=b', title: 'Buy', rank: 1 }] }
    await store(paid(1, { ...shoes, ...blocks, questions: ['Why?'] }))
    const before = await features()
    expect(before).toEqual([
      {
        ordinal: 1,
        kind: 'ads',
        url_key: 'www.a.com/x',
        host: 'www.a.com',
        text: 'Buy',
        extra: { rank: 1 },
      },
      { ordinal: 2, kind: 'questions', url_key: null, host: null, text: 'Why?', extra: null },
    ])
    await sql`truncate search_features`.execute(database.db)
    for (const _ of [1, 2]) {
      expect(await reparse(books(), all)).toEqual({
        read: 1,
        unread: 0,
        marked: 0,
        refused: 0,
        bodiless: 0,
      })
      expect(await features()).toEqual(before)
    }
  })

  test('replaces the rows of every answer on request, each once', async () => {
    await store(paid(1, shoes), paid(2, shoes))
    const before = await readAnswers(database.db, [1, 2])
    await sql`update organic_results set title = 'broken'`.execute(database.db)
    await sql`delete from search_clusters`.execute(database.db)
    expect(await reparse(books(), all)).toEqual({
      read: 2,
      unread: 0,
      marked: 0,
      refused: 0,
      bodiless: 0,
    })
    expect(await readAnswers(database.db, [1, 2])).toEqual(before)
  })

  test('never removes rows because a body can no longer be read', async () => {
    await store(paid(1, shoes))
    await sql`update raw_answers set body = '<html>'`.execute(database.db)
    expect(await reparse(books(), all)).toEqual({
      read: 0,
      unread: 1,
      marked: 0,
      refused: 0,
      bodiless: 0,
    })
    expect(await searchOf(1)).toMatchObject({ parse_error: null, result_count: 2 })
  })

  test('counts answers whose bodies were deleted', async () => {
    await store(unreadable(paid(1, shoes)))
    await sql`delete from raw_answers`.execute(database.db)
    expect(await reparse(books(), unread)).toEqual({
      read: 0,
      unread: 0,
      marked: 0,
      refused: 0,
      bodiless: 1,
    })
  })

  test('is limited to the requested run', async () => {
    await store(unreadable(paid(1, shoes)), unreadable(paid(2, shoes)))
    await sql`
      insert into tasks (id, run_id, query_id, slice)
      overriding system value
      select task_id, case id when 1 then 7 else 8 end, query_id, 0 from searches
    `.execute(database.db)
    expect(await reparse(books(), { all: false, run: 8 })).toMatchObject({ read: 1 })
    expect(await searchOf(1)).toMatchObject({ parse_error: 'too new for me' })
    expect(await searchOf(2)).toMatchObject({ parse_error: null })
  })

  test('processes any number of bodies', async () => {
    await store(...Array.from({ length: 150 }, (_, index) => unreadable(paid(index + 1, shoes))))
    expect(await reparse(books(), unread)).toEqual({
      read: 150,
      unread: 0,
      marked: 0,
      refused: 0,
      bodiless: 0,
    })
  })
})
