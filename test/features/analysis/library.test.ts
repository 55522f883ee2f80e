import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureReader } from '../../../src/base/database/reader-role.ts'
import { findQuestion, readQuestions } from '../../../src/features/analysis/library.ts'
import { answerQuestion, describeLibrary } from '../../../src/features/analysis/sql-command.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { dropReader, placed, Story, ten } from './story.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
  const story = new Story(database.pool)
  await database.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await database.pool.query("insert into accounts (name, kind) values ('bank', 'live')")
  story
    .says('shoes', { weight: 5, tags: ['red'] })
    .says('sandals', { target: 'us.com/right', weight: 2 })
  story.says('boots @m', { device: 'mobile' }).says('boots @d', { device: 'desktop' })
  const words = { entities: ['Foot', 'Leather'], clusters: ['Feet'], related: ['red shoes'] }
  const deep = [...placed(ten('r'), 4, 'us.com/wrong'), ...ten('s')]
  const fall = { ...words, entities: ['Foot', 'Sole'], intent: 'buy' }
  await story.night('2025-12-31', { sandals: placed(deep, 4, 'us.com/other') })
  await story.night('2026-01-01', {
    shoes: { ...words, results: [...deep, 'us.com/2'], titles: ['Old'] },
    sandals: { ...words, results: deep },
    'boots @m': { ...words, results: deep },
    'boots @d': { ...words, results: [...ten('x'), ...ten('y')] },
    lost: 'failed',
  })
  await story.night('2026-01-02', {
    shoes: { ...fall, results: placed(deep, 4, 'taker.com/'), titles: ['New'] },
    sandals: { ...fall, results: placed(deep, 4, 'us.com/other') },
    'boots @m': { ...fall, results: deep },
    'boots @d': { ...fall, results: [...ten('x'), ...ten('y')] },
  })
  await story.night('2026-01-03', {
    shoes: { ...fall, results: placed(deep, 4, 'taker.com/') },
    sandals: {
      ...fall,
      entities: ['Foot'],
      results: [...placed(deep, 4, 'us.com/other'), 'us.com/more', 'rival.com/'],
      titles: ['T0', 'T1', 'T2', 'New'],
    },
    'boots @m': { ...fall, results: placed(deep, 4, 'taker.com/') },
    'boots @d': { ...fall, results: [...ten('x'), ...ten('y')] },
  })
  await story.night('2026-01-04', { shoes: { results: [] } }, { list: 'odd' })
  await database.pool.query(`
    insert into search_features (search_id, ordinal, kind) select id, 1, 'ads' from searches;
    update searches set extra = '{"ads": []}';
    update runs set suspect = true where run_date = '2026-01-04';
    insert into night_health (run_id, asked, answered, empty, unreadable, minutes, workers, reasons)
    select id, 1, 1, 1, 0, 1, 1, '{all empty}' from runs where suspect`)
  await database.pool.query(`
    insert into expansions (list_id, query_id, source_list_id, origin, round, from_query, sources, weight, run_id)
    select odd.id, tasks.query_id, main.id, 'live', 1, tasks.query_id, 1, 1, tasks.run_id
    from lists as odd
    join runs on runs.list_id = odd.id
    join tasks on tasks.run_id = runs.id
    join lists as main on main.name = 'main'
    where odd.name = 'odd'`)
  await database.pool.query(
    'update calls set account_id = (select id from accounts), credits_remaining = 100 - id',
  )
})
afterAll(async () => {
  await dropReader(database.pool)
  await database.close()
})

async function answer(
  typed: string,
  flags: string[] = [],
  format: 'json' | 'csv' | 'table' = 'json',
) {
  const said: string[] = []
  const reading = { ...findQuestion(typed, flags), timeoutMs: 20_000, warn: () => undefined }
  let text = ''
  const answering = {
    format,
    most: 3,
    say: (line: string) => said.push(line),
    empty: () => undefined,
  }
  for await (const piece of answerQuestion(database.pool, reading, answering)) text += piece
  return { text, said }
}

const rowsOf = ({ text }: { text: string }) =>
  (JSON.parse(text) as { rows: Record<string, unknown>[] }).rows

describe('the library', () => {
  const needed: Readonly<Record<string, string>> = {
    ...{ q: 'shoes', word: 'sho', rival: 'r1.com', page: 'us.com/wrong' },
  }

  test('contains at least twenty questions, each a single line with a question mark', () => {
    const questions = readQuestions()
    expect(questions.length).toBeGreaterThanOrEqual(20)
    for (const { asks } of questions) expect(asks).toMatch(/^[A-Z].+\?$/)
  })

  test.each(readQuestions().map(({ name, parameters }) => ({ name, parameters })))(
    'the question $name gives rows for a history that has something to tell',
    async ({ name, parameters }) => {
      const flags = parameters
        .filter(({ fallback }) => fallback === undefined)
        .map((parameter) => `--${parameter.name}=${needed[parameter.name]}`)
      // The history has four days, and no domain was new on the last one.
      const days = name === 'domains-new' ? 2 : 1
      if (parameters.some((parameter) => parameter.name === 'days')) flags.push(`--days=${days}`)
      expect(rowsOf(await answer(name, flags)).length).toBeGreaterThan(0)
    },
  )

  test('a fall out of the top ten is shown with what took the position', async () => {
    const fell = ['--crossed', '10', '--days', '1']
    expect(rowsOf(await answer('ranks', [...fell, '--day', '2026-01-02']))).toEqual([
      {
        ...{ q: 'shoes', domain: 'us.com', previous_position: 4, position: null, change: 'left' },
        ...{ places: 17, click_change: -0.2, page: null, previous_page: 'us.com/wrong' },
        ...{ taken_by: 'taker.com', depth: 20, variant: '' },
        ...{ previous_run_date: '2026-01-01', run_date: '2026-01-02' },
      },
    ])
    expect(rowsOf(await answer('ranks', fell)).map(({ q }) => q)).toEqual(['boots'])
  })

  test('is listed with its parameters and their defaults', () => {
    expect(describeLibrary()).toMatch(
      /^ranks +Where do domains rank for each query on a day, compared with an earlier day\?$/m,
    )
    expect(describeLibrary()).toMatch(/^ +--top 20 {2}number of rows$/m)
  })
})

describe('answers', () => {
  test('a value of a parameter is a value, whatever it contains', async () => {
    const evil = "shoes'; drop table tasks; --"
    expect(rowsOf(await answer('keyword-history', ['--q', evil]))).toEqual([])
  })

  test('a table is truncated at its limit, and says so', async () => {
    const { text, said } = await answer('select n from generate_series(1, 10) as n', [], 'table')
    expect(text).toBe('n\n1\n2\n3\n')
    expect(said.join()).toMatch(/the first 3 rows/)
  })

  test('CSV and JSON contain every row of a long answer, and numbers stay numbers', async () => {
    const question =
      'select n, -n as minus, null as nothing, n % 2 = 0 as even from generate_series(1, 4500) as n'
    const csv = (await answer(question, [], 'csv')).text.trimEnd().split('\n')
    expect(csv).toHaveLength(4501)
    expect(csv[4500]).toBe('4500,-4500,,true')
    const rows = rowsOf(await answer(question))
    expect(rows).toHaveLength(4500)
    expect(rows[4499]).toEqual({ n: 4500, minus: -4500, nothing: null, even: true })
  })

  test('an answer without rows is an object with columns and no rows', async () => {
    expect(JSON.parse((await answer('select 1 as a where false')).text)).toEqual({
      columns: ['a'],
      rows: [],
    })
  })
})
