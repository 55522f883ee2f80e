// @module-tag slow
import { describe, expect, test } from 'vitest'
import { readSlice } from '../../../src/base/database/views.ts'
import { readReport, renderPage } from '../../../src/desk/report/page.ts'
import { readSnapshot } from '../../../src/desk/page.ts'
import { storyScene } from '../../features/analysis/scene.ts'
import { placed, ten } from '../../features/analysis/story.ts'

const scene = storyScene()

const made = new Date('2026-01-05T10:00:00Z')
const config = { zone: 'UTC', renewal: null }
const all = readSlice(new Map())
type ReportOptions = Partial<Parameters<typeof readReport>[1]>

function readFound(options: ReportOptions = {}) {
  const order = { slice: all, domains: [], today: '2026-01-05', config, ...options }
  return readSnapshot(scene.db, { role: null, slice: order.slice }, (trx) => readReport(trx, order))
}
const read = async (options: ReportOptions = {}) => (await readFound(options)).figures

test('a shown domain has a share of zero on each day without it, and no day is invented', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: ['b.com/'] })
  await scene.story.night('2026-01-04', { shoes: ['a.com/'] })
  const { shares } = await read({ domains: ['b.com', 'never.com'] })
  const found = shares.map(
    ({ domain, runDate, share }) => `${runDate} ${domain} ${(share ?? 0) > 0}`,
  )
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

test('a domain is ours from its first day to its last, with the label of that day', async () => {
  await scene.story.night('2026-01-04', { shoes: ['a.com/', 'b.com/'] })
  await scene.pool.query(`insert into own_domains (domain, label, since, until) values
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
  // A domain that is no longer ours is shown under its label if it is requested.
  expect(await domainsOn('2026-01-06', ['ended.com'])).toEqual(['ended.com Ended'])
})

test('if none of our domains is ours any more, the largest ones are shown', async () => {
  await scene.story.night('2026-01-04', { shoes: ['a.com/', 'us.com/'] })
  await scene.pool.query(
    "insert into own_domains (domain, label, until) values ('us.com', 'Us', '2026-01-04')",
  )
  expect((await read()).domains.map(({ domain }) => domain)).toEqual(['a.com', 'us.com'])
})

test('two queries with one text are two histories, each named by its parameters', async () => {
  scene.story
    .says('shoes @m', { device: 'mobile', gl: 'de' })
    .says('shoes @d', { device: 'desktop', gl: 'de' })
  for (const night of ['2026-01-01', '2026-01-02']) {
    await scene.story.night(night, {
      'shoes @m': ['us.com/'],
      'shoes @d': placed(ten('r'), 10, 'us.com/'),
      boots: ['us.com/'],
    })
  }
  const page = renderPage(await readFound({ domains: ['us.com'] }), made)
  const captions = [...page.matchAll(/<figcaption>\s*(.+?)\s*<\/figcaption>/gs)]
    .map(([, text = '']) => text.replace(/<[^>]+>/g, ''))
    .toSorted()
  expect(captions).toEqual(['boots now 1', 'shoes (desktop) now 10', 'shoes (mobile) now 1'])
})

test('a thin day is in no line and is not used for moves, and the page says so', async () => {
  const own = { a: ['us.com/', 'b.com/'], c: ['c.com/'], d: ['d.com/'] }
  await scene.story.night('2026-01-01', own)
  await scene.story.night('2026-01-02', { ...own, a: ['b.com/', 'us.com/'] })
  await scene.story.night('2026-01-03', { alone: ['x.com/'] }, { list: 'adhoc' })
  const found = await readFound({ domains: ['us.com'] })
  expect(found.figures.day).toBe('2026-01-02')
  expect(found.held.map(({ moves }) => moves)).toMatchObject([
    [{ q: 'a', previous: 1, position: 2 }],
  ])
  const thin = found.figures.shares.filter((day) => day.thin).map(({ runDate }) => runDate)
  expect([...new Set(thin)]).toEqual(['2026-01-03'])
  const page = renderPage(found, made)
  expect(page).not.toContain('&quot;2026-01-03: ')
  expect(page).toMatch(/fewer than half of the usual queries were answered:\s+2026-01-03/)
})

test('on a first night the page says that nothing can be compared, not that nothing moved', async () => {
  await scene.story.night('2026-01-01', { a: ['us.com/'] })
  const page = renderPage(await readFound({ domains: ['us.com'] }), made)
  expect(page).toMatch(/There are no answers from an earlier day to compare with/)
  expect(page).not.toMatch(/No changes between these days/)
})

test('moves of one text on two devices are distinguished', async () => {
  scene.story.says('shoes @m', { device: 'mobile' }).says('shoes @d', { device: 'desktop' })
  for (const [day, place] of [
    ['2026-01-01', 3],
    ['2026-01-02', 5],
  ] as const) {
    const answer = placed(ten('r'), place, 'us.com/')
    await scene.story.night(day, { 'shoes @m': answer, 'shoes @d': answer })
  }
  const { held } = await readFound({ domains: ['us.com'] })
  expect(
    held.flatMap(({ moves }) => moves.map(({ q, variant }) => `${q} ${variant}`)).toSorted(),
  ).toEqual(['shoes desktop', 'shoes mobile'])
})

describe('a page of some queries or days', () => {
  /** Two lists on different nights, two devices, two countries, one label. */
  async function tell() {
    const { story } = scene
    story.says('shoes @m', { device: 'mobile', gl: 'at', hl: 'de' })
    story.says('shoes @d', { device: 'desktop', gl: 'de', hl: 'de', tags: ['red'] })
    const at = (position: number) => placed(ten('r'), position, 'us.com/')
    await story.night('2026-01-01', { 'shoes @m': at(1), 'shoes @d': at(2) })
    await story.night('2026-01-02', { 'shoes @m': at(3), 'shoes @d': at(2) })
    await story.night('2026-01-03', { boots: at(4) }, { list: 'other' })
    await story.night('2026-01-04', { boots: at(1) }, { list: 'other' })
  }

  async function readOf(flags: Readonly<Record<string, string>>) {
    const given = new Map(Object.entries(flags).map(([flag, value]) => [flag, [value]] as const))
    const slice = readSlice(given)
    return readFound({ slice, domains: ['us.com'] })
  }

  const mobile = {
    days: ['2026-01-02', '2026-01-01'],
    queries: 1,
    drawn: 1,
    answers: 2,
    moves: ['shoes 1 3'],
  }
  const desktop = { ...mobile, moves: [] }
  const main = { ...mobile, queries: 2, drawn: 2, answers: 4 }
  const other = { ...mobile, days: ['2026-01-04', '2026-01-03'], moves: ['boots 4 1'] }

  test.each<[Record<string, string>, typeof mobile]>([
    [{ device: 'mobile' }, mobile],
    [{ country: 'at' }, mobile],
    [{ language: 'de' }, main],
    [{ list: 'main' }, main],
    [{ list: 'other' }, other],
    [{ tag: 'red' }, desktop],
    [{ list: 'main', tag: 'not red' }, mobile],
    [{ device: 'mobile,desktop', country: 'de' }, desktop],
    [
      { list: 'main', until: '2026-01-01' },
      { ...main, days: ['2026-01-01'], moves: [] },
    ],
    [{ until: '2026-01-02' }, { ...main, queries: 3, answers: 6 }],
    [
      { between: '2026-01-01..2026-01-04' },
      {
        days: ['2026-01-04', '2026-01-01'],
        queries: 3,
        drawn: 3,
        answers: 6,
        moves: ['shoes 1 3'],
      },
    ],
  ])('with %j is about these alone', async (flags, { days, queries, drawn, answers, moves }) => {
    await tell()
    const { figures, held } = await readOf(flags)
    expect([figures.day, figures.previous].filter((day) => day !== null)).toEqual(days)
    expect([figures.queries, figures.answers, figures.credits]).toEqual([queries, answers, answers])
    const told = held.flatMap((one) => one.moves)
    expect(told.map(({ q, previous, position }) => `${q} ${previous} ${position}`)).toEqual(moves)
    const seen = new Set(figures.ranks.map(({ queryId }) => queryId))
    expect(seen.size).toBe(drawn)
    for (const { runDate } of [...figures.ranks, ...figures.shares]) {
      expect(runDate <= figures.span.until).toBe(true)
    }
  })

  test('names the slice, shows only the coverage of its list, and has a sentence for empty sections', async () => {
    await tell()
    const page = renderPage(await readOf({ list: 'other', tag: 'not red' }), made)
    const words = page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
    expect(words).toContain('Limited to some queries: list other ; not label red . Coverage')
    expect(words).toContain('Coverage and costs of other')
    expect(words).not.toContain('Coverage and costs of main')
    const none = renderPage(await readOf({ device: 'mobile', list: 'other' }), made)
    expect(none).toContain('No readable answers to these queries.')
    expect(renderPage(await readFound(), made)).not.toContain('Limited to some queries')
  })

  test('contains at most four hundred days, and says that there are more', async () => {
    await tell()
    const found = await readOf({ since: '2020-01-01', until: '2026-01-04' })
    expect(found.figures.span).toEqual({ since: '2024-12-01', until: '2026-01-04', cut: true })
    expect(renderPage(found, made)).toContain('(the maximum for one page)')
  })
})
