import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ensureReader } from '../../../src/base/database/reader-role.ts'
import { findQuestion } from '../../../src/features/analysis/library.ts'
import { answerQuestion } from '../../../src/features/analysis/sql-command.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { dropReader, placed, Story, ten } from './story.ts'

let database: FreshDatabase
const devices = ['desktop', 'mobile'] as const
beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
  const story = new Story(database.pool)
  for (const device of devices) story.says(`boots ${device[0] === 'd' ? '@d' : '@m'}`, { device })
  story.says('socks @d', { device: 'desktop' }).says('socks @m', { device: 'mobile' })
  const deep = [...ten('r'), ...ten('s')]
  const ours = ['us.com/1', 'us.com/2']
  const all = (results: string[], title = 'Old') => {
    const answer = { results, titles: results.map(() => title), related: ['red boots', 'shoes'] }
    return { 'boots @d': answer, 'boots @m': answer, 'socks @d': answer, 'socks @m': answer }
  }
  const [one = '', two = ''] = ours
  await story.night('2026-01-01', all(placed(placed(deep, 4, one), 6, two)))
  await story.night('2026-01-02', all(placed(placed(deep, 4, two), 6, one), 'New'))
  await story.night('2026-01-03', all(placed(deep, 4, one)))
  await story.night('2026-01-04', all(placed(deep, 18, two)))
  await story.night('2026-01-05', all(placed(deep, 12, one)))
})
afterEach(() => database.pool.query('truncate own_domains'))
afterAll(async () => {
  await dropReader(database.pool)
  await database.close()
})

/** Our only domain, until a day. */
const own = (until: string | null) =>
  database.pool.query(
    "insert into own_domains (domain, label, until) values ('us.com', 'Us', $1)",
    [until],
  )

async function rows(name: string, ...flags: string[]): Promise<Record<string, unknown>[]> {
  const reading = { ...findQuestion(name, flags), timeoutMs: 20_000, warn: () => undefined }
  const answering = {
    format: 'json' as const,
    most: 3,
    say: () => undefined,
    empty: () => undefined,
  }
  let text = ''
  for await (const piece of answerQuestion(database.pool, reading, answering)) text += piece
  return (JSON.parse(text) as { rows: Record<string, unknown>[] }).rows
}

describe('without a domain', () => {
  test.each([
    ['keyword', '--show', 'history', '--q', 'boots'],
    ['pages', '--show', 'ranking', '--day', '2026-01-02'],
    ['pages', '--show', 'several', '--day', '2026-01-02'],
    ['pages', '--show', 'switches'],
    ['pages', '--show', 'titles'],
    ['ranks', '--day', '2026-01-04', '--days', '1'],
    ['ranks', '--show', 'losses'],
    ['ranks', '--show', 'reach'],
    ['shares', '--show', 'bounds'],
  ])('%s %s %s covers domains that are ours on its days, not those that were', async (...asked) => {
    const [name = '', ...flags] = asked
    await own(null)
    const always = await rows(name, ...flags)
    expect(always.length).toBeGreaterThan(0)
    await database.pool.query("update own_domains set until = '2025-12-31'")
    expect(await rows(name, ...flags)).toEqual([])
    expect(await rows(name, '--domain', 'us.com', ...flags)).toEqual(always)
  })

  test('days on which a domain was ours are shown, and no later one', async () => {
    await own('2026-01-02')
    const days = (await rows('keyword-history', '--q', 'boots')).map(({ run_date }) => run_date)
    expect([...new Set(days)]).toEqual(['2026-01-01', '2026-01-02'])
  })
})

describe('a text asked for two devices', () => {
  test.each(['keyword', 'keyword-history', 'keyword-stays', 'keyword-related'])(
    'has one block of rows for each of them in %s, which names the device',
    async (name) => {
      await own(null)
      const seen = (await rows(name, '--q', 'boots')).map(({ variant }) => variant)
      const blocks = seen.filter((variant, index) => variant !== seen[index - 1])
      expect(blocks).toEqual([...devices])
    },
  )

  test('is distinguished in the largest moves', async () => {
    await own(null)
    const moves = await rows('ranks', '--day', '2026-01-04', '--days', '1')
    expect(moves.map(({ q, variant }) => [q, variant])).toEqual([
      ['boots', 'desktop'],
      ['boots', 'mobile'],
      ['socks', 'desktop'],
      ['socks', 'mobile'],
    ])
  })

  test('is distinguished in groups and under its twin, one after the other', async () => {
    const groups = await rows('groups')
    expect(groups.map(({ group_name, q }) => [group_name, q])).toEqual([
      ['boots', 'boots'],
      ['boots', 'socks'],
      ['boots', 'boots'],
      ['boots', 'socks'],
    ])
    const kinds = groups.map(({ group_id, variant }) => [group_id, variant])
    expect([kinds[1], kinds[3]]).toEqual([kinds[0], kinds[2]])
    const twins = await rows('groups', '--show', 'twins')
    expect(twins.map(({ twin_variant, variant }) => [twin_variant, variant])).toEqual([
      ['desktop', 'desktop'],
      ['desktop', 'desktop'],
      ['mobile', 'mobile'],
      ['mobile', 'mobile'],
    ])
  })
})

test('a domain at two positions fell out once, from the better one', async () => {
  await own(null)
  const story = new Story(database.pool)
  await story.night('2026-02-01', { hats: placed(placed(ten('r'), 2, 'us.com/1'), 5, 'us.com/1') })
  await story.night('2026-02-02', { hats: ten('r') })
  const fell = ['--crossed', '10', '--day', '2026-02-02', '--days', '1']
  expect((await rows('ranks', ...fell)).filter((row) => row['q'] === 'hats')).toMatchObject([
    { previous_page: 'us.com/1', previous_position: 2, position: null, taken_by: 'r2.com' },
  ])
})

test.each([
  ['%', ['100% wool']],
  ['_', ['snake_case']],
  ['WOOL', ['100% wool']],
])('the word %s is found only in queries that contain it', async (word, found) => {
  await new Story(database.pool).night('2026-03-01', { '100% wool': [], snake_case: [] })
  expect((await rows('keyword', '--show', 'find', '--word', word)).map(({ q }) => q)).toEqual(found)
})

test.each(['https://t.com?lang=de', 'https://t.com:8443/', 'https://www.t.com/a'])(
  'a changed title is found by the domain of %s',
  async (address) => {
    const story = new Story(database.pool)
    const q = `titles of ${address}`
    await story.night('2026-04-01', { [q]: { results: [address], titles: ['Old'] } })
    await story.night('2026-04-02', { [q]: { results: [address], titles: ['New'] } })
    const changes = await rows('pages-titles', '--domain', 't.com')
    expect(changes.filter((row) => row['q'] === q)).toHaveLength(1)
    expect(await rows('pages-titles', '--domain', 't(com')).toEqual([])
  },
)

test('a text is found however its letters are encoded', async () => {
  await own(null)
  expect((await rows('keyword-history', '--q', ' BOOTS ')).length).toBeGreaterThan(0)
  expect((await rows('keyword', '--q', 'Boots')).length).toBeGreaterThan(0)
})

test('a page that moved to www. neither moved nor switched nor is a wrong one', async () => {
  await own(null)
  const story = new Story(database.pool)
  story.says('caps', { target: 'https://us.com/caps', tags: ['caps'] })
  const at = (host: string) => ({ caps: placed(ten('r'), 2, `${host}us.com/caps`) })
  await story.night('2026-05-01', at(''))
  await story.night('2026-05-02', at('www.'))
  await story.night('2026-05-03', at(''))
  expect(await rows('ranks', '--day', '2026-05-02', '--days', '1', '--tag', 'caps')).toEqual([])
  expect((await rows('pages-switches')).filter((row) => row['q'] === 'caps')).toEqual([])
  expect(await rows('pages-wrong', '--day', '2026-05-02')).toEqual([])
})

test('one text asked in two towns is no group and no pair', async () => {
  const story = new Story(database.pool)
  await story.night('2026-06-01', { tailor: ten('t'), seamstress: ten('t') })
  await database.pool.query(
    "update queries set location = q, q = 'tailor' where q in ('tailor', 'seamstress')",
  )
  expect(await rows('groups-pairs', '--day', '2026-06-01')).toEqual([])
  expect(await rows('groups', '--day', '2026-06-01')).toEqual([])
})

test('a question about the newest day skips a thin one and says so', async () => {
  await own(null)
  const story = new Story(database.pool)
  const all = { a: ten('a'), b: ten('b'), c: ten('c') }
  await story.night('2026-08-01', all)
  await story.night('2026-08-02', { one: ten('o') }, { list: 'adhoc' })
  const said: string[] = []
  const reading = {
    ...findQuestion('shares', []),
    timeoutMs: 20_000,
    warn: (line: string) => said.push(line),
  }
  const answering = {
    format: 'json' as const,
    most: 3,
    say: () => undefined,
    empty: () => undefined,
  }
  let text = ''
  for await (const piece of answerQuestion(database.pool, reading, answering)) text += piece
  expect(text).toContain('"queries":3')
  expect(said.join()).toMatch(
    /the day shown is 2026-08-01, the newest full day; 2026-08-02 has too few/,
  )
})
