import { afterEach, beforeEach, expect, test } from 'vitest'
import { renderPage } from '../../../src/commands/report/page.ts'
import { readFigures, type FigureOptions } from '../../../src/store/analysis/figures.ts'
import { placed, Story, ten } from '../../analysis/story.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'

let database: FreshDatabase
let story: Story
beforeEach(async () => {
  database = await freshDatabase()
  story = new Story(database.pool)
})
afterEach(() => database.close())

const read = (options: Partial<FigureOptions> = {}) =>
  readFigures(database.db, {
    origins: undefined,
    tag: '*',
    domains: [],
    today: '2026-01-05',
    ...options,
  })

test('a shown domain has a share of nought on each day without it, and no day is made up', async () => {
  await story.night('2026-01-01', { shoes: ['a.com/'] })
  await story.night('2026-01-02', { shoes: ['b.com/'] })
  await story.night('2026-01-04', { shoes: ['a.com/'] })
  const { shares } = await read({ domains: ['b.com', 'never.com'] })
  const found = shares.map(({ domain, runDate, share }) => `${runDate} ${domain} ${share > 0}`)
  expect(found.toSorted()).toEqual([
    '2026-01-01 a.com true',
    '2026-01-01 b.com false',
    '2026-01-01 never.com false',
    '2026-01-02 a.com false',
    '2026-01-02 b.com true',
    '2026-01-02 never.com false',
    '2026-01-04 a.com true',
    '2026-01-04 b.com false',
    '2026-01-04 never.com false',
  ])
})

test('a domain is ours from its first day to its last, and is called as on that day', async () => {
  await story.night('2026-01-04', { shoes: ['a.com/', 'b.com/'] })
  await database.pool.query(`insert into own_domains (domain, label, since, until) values
    ('ended.com', 'Ended', null, '2026-01-04'),
    ('us.com', 'Us', null, '2026-01-04'),
    ('us.com', 'We', '2026-01-05', '2026-01-05'),
    ('us.com', 'They', '2026-01-06', null),
    ('later.com', 'Later', '2026-01-06', null)`)
  const domainsOn = async (today: string, domains: string[] = []) =>
    (await read({ today, domains })).domains.map(({ domain, label }) => `${domain} ${label}`)
  expect(await domainsOn('2026-01-04')).toEqual(['ended.com Ended', 'us.com Us'])
  expect(await domainsOn('2026-01-05')).toEqual(['us.com We'])
  expect(await domainsOn('2026-01-06')).toEqual(['later.com Later', 'us.com They'])
  // Whoever asks for one that has ended sees it, under its name.
  expect(await domainsOn('2026-01-06', ['ended.com'])).toEqual(['ended.com Ended'])
})

test('when none of our domains is ours any more, the greatest ones are shown', async () => {
  await story.night('2026-01-04', { shoes: ['a.com/', 'us.com/'] })
  await database.pool.query(
    "insert into own_domains (domain, label, until) values ('us.com', 'Us', '2026-01-04')",
  )
  expect((await read()).domains.map(({ domain }) => domain)).toEqual(['a.com', 'us.com'])
})

test('two queries of one text are two histories, each named by what it was asked with', async () => {
  story
    .says('shoes @m', { device: 'mobile', gl: 'de' })
    .says('shoes @d', { device: 'desktop', gl: 'de' })
  for (const night of ['2026-01-01', '2026-01-02']) {
    await story.night(night, {
      'shoes @m': ['us.com/'],
      'shoes @d': placed(ten('r'), 10, 'us.com/'),
      boots: ['us.com/'],
    })
  }
  const figures = await read({ domains: ['us.com'] })
  const page = renderPage(figures, new Date('2026-01-05T10:00:00Z'))
  const captions = [...page.matchAll(/<figcaption>\s*(.+?)\s*<\/figcaption>/gs)]
    .map(([, text = '']) => text.replace(/<[^>]+>/g, ''))
    .toSorted()
  expect(captions).toEqual(['boots now 1', 'shoes (desktop) now 10', 'shoes (mobile) now 1'])
})

test('a thin day is in no line and is not the day of the moves, and the page says so', async () => {
  const own = { a: ['us.com/', 'b.com/'], c: ['c.com/'], d: ['d.com/'] }
  await story.night('2026-01-01', own)
  await story.night('2026-01-02', { ...own, a: ['b.com/', 'us.com/'] })
  await story.night('2026-01-03', { alone: ['x.com/'] }, { list: 'adhoc' })
  const figures = await read({ domains: ['us.com'] })
  expect([figures.day, figures.thin]).toEqual(['2026-01-02', ['2026-01-03']])
  expect(figures.moves).toMatchObject([{ q: 'a', previous: 1, position: 2 }])
  expect([...new Set(figures.shares.map(({ runDate }) => runDate))]).toEqual([
    '2026-01-01',
    '2026-01-02',
  ])
  const page = renderPage(figures, new Date('2026-01-05T10:00:00Z'))
  expect(page).toMatch(/fewer than half of the usual queries were answered: 2026-01-03/)
})

test('on a first night the page says that nothing can be compared, not that nothing moved', async () => {
  await story.night('2026-01-01', { a: ['us.com/'] })
  const page = renderPage(await read({ domains: ['us.com'] }), new Date('2026-01-05T10:00:00Z'))
  expect(page).toMatch(/No query has been answered twice yet/)
  expect(page).not.toMatch(/moved on/)
})

test('moves of one text on two devices are told apart', async () => {
  story.says('shoes @m', { device: 'mobile' }).says('shoes @d', { device: 'desktop' })
  for (const [day, place] of [
    ['2026-01-01', 3],
    ['2026-01-02', 5],
  ] as const) {
    const answer = placed(ten('r'), place, 'us.com/')
    await story.night(day, { 'shoes @m': answer, 'shoes @d': answer })
  }
  const { moves } = await read({ domains: ['us.com'] })
  expect(moves.map(({ q, variant }) => `${q} ${variant}`)).toEqual([
    'shoes desktop',
    'shoes mobile',
  ])
})
