// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { type Answer, dice, readBase } from './oracle.ts'
import { type Answers, Story } from './story.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
})
afterEach(() => database.close())

async function ask(text: string, ...values: unknown[]): Promise<unknown[][]> {
  return (await database.pool.query<unknown[]>({ text, values, rowMode: 'array' })).rows
}

const lines = (rows: readonly unknown[][]) => rows.map((row) => row.join(' ')).toSorted()

interface Line {
  readonly domain: string
  readonly brand: string
  readonly rival: boolean
  readonly since: string | null
  readonly until: string | null
}

const days = ['2026-01-30', '2026-01-31', '2026-02-02']
const hosts = [
  'us.com',
  'www.us.com',
  'shop.us.com',
  'a.shop.us.com',
  'wide_x.com',
  'other.com',
  'usus.com',
]
const paths = ['', '/team', '/Team/one', '/team/two', '/teams', '/team?page=2', '/x']
const drawn = [
  'us.com',
  '*.us.com',
  '*.shop.us.com',
  'us.com/team',
  '*.us.com/team',
  'us.com/team/two',
  'wide_x.com/x',
  'other.com',
  'wideyx.com/x',
]

async function tell(seed: number): Promise<readonly Line[]> {
  const roll = dice(seed)
  const told = drawn
    .filter(() => roll(2) === 0)
    .map((domain): Line => ({
      domain,
      brand: ['One', 'Two'][roll(2)] ?? '',
      rival: roll(3) === 0,
      since: roll(3) === 0 ? '2026-01-31' : null,
      until: roll(4) === 0 ? '2026-01-31' : null,
    }))
  for (const { domain, brand, rival, since, until } of told) {
    await database.pool.query(
      `insert into ${rival ? 'rival' : 'own'}_domains (domain, label, brand, since, until)
      values ($1, 'label', $2, $3, $4)`,
      [domain, brand, since, until],
    )
  }
  const story = new Story(database.pool).says('shoes', { weight: 4, tags: ['red'] })
  for (const day of days) {
    const answers: Record<string, Answers[string]> = {}
    for (const q of ['shoes', 'boots', 'hats']) {
      const kind = roll(7)
      if (kind === 0) answers[q] = 'failed'
      else if (kind === 1) answers[q] = 'reused'
      else if (kind > 2) {
        answers[q] = Array.from(
          { length: 1 + roll(8) },
          () => `${hosts[roll(hosts.length)]}${paths[roll(paths.length)]}`,
        )
      }
    }
    await story.night(day, answers)
  }
  return told
}

/** The most specific line for a page: a host before a wildcard, then the longer root, then the longer folder. */
function siteOf(url: string, told: readonly Line[]): string {
  const [host = '', ...rest] = url.replace(/^www\./, '').split(/(?=[/?])/)
  const path = rest.join('')
  const held = told
    .map(({ domain }) => {
      const slash = domain.indexOf('/')
      const top = slash < 0 ? domain : domain.slice(0, slash)
      const folder = slash < 0 ? '' : domain.slice(slash)
      const wide = top.startsWith('*.')
      return { domain, wide, root: wide ? top.slice(2) : top, folder }
    })
    .filter(({ wide, root }) => host === root || (wide && host.endsWith(`.${root}`)))
    .filter(
      ({ folder }) =>
        path === folder ||
        folder === '' ||
        (['/', '?'].includes(path.slice(folder.length)[0] ?? '') && path.startsWith(folder)),
    )
  return (
    held.toSorted(
      (a, b) =>
        Number(a.wide) - Number(b.wide) ||
        b.root.length - a.root.length ||
        b.folder.length - a.folder.length,
    )[0]?.domain ?? host
  )
}

interface Result {
  readonly search: number
  readonly position: number
  readonly url: string
}

/** The best position of each name in one answer. */
function bestOf(named: readonly (readonly [string, number])[]): ReadonlyMap<string, number> {
  const best = new Map<string, number>()
  for (const [name, place] of named) best.set(name, Math.min(place, best.get(name) ?? Infinity))
  return best
}

const holds = ({ since, until }: Line, day: string) =>
  (since === null || since <= day) && (until === null || until >= day)

describe('brands over random histories', () => {
  test.each(histories)(
    'positions of sites and brands and their shares follow from pages and domain lines, history %i',
    async (seed) => {
      const told = await tell(seed)
      const { answers } = await readBase(database.pool)
      const { rows } = await database.pool.query<Result>(
        'select search_id as search, position, url_key as url from organic_results join pages on pages.id = page_id',
      )
      const sitesOf = ({ search }: Answer) =>
        bestOf(
          rows
            .filter((row) => row.search === search)
            .map(({ url, position }) => [siteOf(url, told), position] as const),
        )
      const brandsOf = (answer: Answer) =>
        bestOf(
          [...sitesOf(answer)].flatMap(([site, place]) =>
            told
              .filter((line) => line.domain === site && holds(line, answer.day))
              .map(({ brand, rival }) => [`${brand} ${!rival}`, place] as const),
          ),
        )
      expect(
        lines(await ask('select query_id, run_date, domain, position from analysis.ranks')),
      ).toEqual(
        lines(
          answers.flatMap((answer) =>
            [...sitesOf(answer)].map(([site, place]) => [answer.query, answer.day, site, place]),
          ),
        ),
      )
      expect(
        lines(
          await ask('select query_id, run_date, brand, ours, position from analysis.brand_ranks'),
        ),
      ).toEqual(
        lines(
          answers.flatMap((answer) =>
            [...brandsOf(answer)].map(([brand, place]) => [answer.query, answer.day, brand, place]),
          ),
        ),
      )
      const curve = new Map(
        (await ask('select position, ctr from analysis.ctr')) as [number, number][],
      )
      const shoes = new Story(database.pool).idOf('shoes')
      const weight = ({ query }: Answer) => (query === shoes ? 4 : 1)
      const expected = days.flatMap((day) =>
        ['*', 'red'].flatMap((tag) => {
          const own = answers.filter(
            (answer) => answer.day === day && (tag === '*' || answer.query === shoes),
          )
          if (own.length === 0) return []
          const names = new Set(
            told.filter((line) => holds(line, day)).map(({ brand, rival }) => `${brand} ${!rival}`),
          )
          return [...names].map((name) => {
            const places = own.map((answer) => ({ answer, place: brandsOf(answer).get(name) }))
            const clicks = places.reduce(
              (sum, { answer, place }) => sum + weight(answer) * (curve.get(place ?? 0) ?? 0),
              0,
            )
            const total = own.reduce((sum, answer) => sum + weight(answer), 0)
            const within = (most: number) =>
              places.filter(({ place }) => place !== undefined && place <= most).length
            return [
              day,
              tag,
              name,
              (clicks / total).toFixed(9),
              own.length,
              within(1000),
              within(3),
            ]
          })
        }),
      )
      const shares = async () =>
        lines(
          await ask(`select run_date, tag, brand, ours, round(share_of_voice::numeric, 9)::text, queries, ranked, top_3
            from analysis.brand_share where tag in ('*', 'red')`),
        )
      expect(await shares()).toEqual(lines(expected))
      // An answer is read by its key in the same way as all answers together, even if it names no host for a result.
      await database.pool.query('update organic_results set domain_id = null where ordinal % 3 = 0')
      const together = await ask('select * from result_domains')
      expect(together.length).toBeGreaterThan(0)
      expect(
        lines(
          await ask(
            'select shown.* from searches cross join lateral analysis.shown_in(searches.id) as shown',
          ),
        ),
      ).toEqual(lines(together))
      expect(await shares()).toEqual(lines(expected))
      await database.pool.query("update runs set state = 'done'")
      expect(await finishDays(database.db)).toBe(days.length)
      expect(await shares()).toEqual(lines(expected))
    },
  )
})

describe('our own domains', () => {
  test('may be a folder of a host, and all hosts below one, in every view about our domains', async () => {
    await database.pool.query(`
      insert into own_domains (domain, label) values ('blog.com/us', 'Blog'), ('*.us.com', 'Us');
      insert into rival_domains (domain, label) values ('rival.com', 'Rival')`)
    const story = new Story(database.pool).says('shoes', { target: 'https://shop.us.com/wanted' })
    await story.night('2026-01-01', { shoes: ['blog.com/us/1', 'blog.com/them', 'shop.us.com/2'] })
    await story.night('2026-01-02', { shoes: ['rival.com/', 'blog.com/them', 'www.us.com/2'] })
    expect(
      await ask(
        "select domain, position from analysis.ranks where run_date = '2026-01-01' order by 2",
      ),
    ).toEqual([
      ['blog.com/us', 1],
      ['blog.com', 2],
      ['*.us.com', 3],
    ])
    expect(
      await ask(
        'select domain, change from analysis.movers where domain in (select domain from own_domains) order by 1',
      ),
    ).toEqual([
      ['*.us.com', 'same'],
      ['blog.com/us', 'left'],
    ])
    expect(await ask('select domain, url_key from analysis.wrong_pages order by run_date')).toEqual(
      [
        ['*.us.com', 'shop.us.com/2'],
        ['*.us.com', 'www.us.com/2'],
      ],
    )
    expect(await ask('select domain from analysis.competitors order by 1')).toEqual([
      ['blog.com'],
      ['rival.com'],
    ])
  })

  test('have stored sums for one domain, whatever lines name it, and use the answers for two domains', async () => {
    await database.pool.query(`
      insert into own_domains (domain, label, brand, since, until) values
        ('us.com', 'Us', 'We', null, '2026-01-01'), ('us.com', 'Us again', 'We', '2026-01-01', '2026-01-02');
      insert into rival_domains (domain, label, brand) values ('rival.com', 'Them', 'They'), ('rival.org', 'Them', 'They')`)
    const story = new Story(database.pool)
    const answers = { shoes: ['us.com/', 'rival.com/'], boots: ['rival.org/', 'rival.com/'] }
    for (const night of ['2026-01-01', '2026-01-02', '2026-01-03'])
      await story.night(night, answers)
    await database.pool.query("update runs set state = 'done'")
    await finishDays(database.db)
    const ranked = () =>
      ask(
        "select run_date, brand, ranked, top_3 from analysis.brand_share where tag = '*' order by 2, 1",
      )
    const they = ['2026-01-01', '2026-01-02', '2026-01-03'].map((day) => [day, 'They', 2, 2])
    expect(await ranked()).toEqual([
      ...they,
      ['2026-01-01', 'We', 1, 1],
      ['2026-01-02', 'We', 1, 1],
    ])
    // Nobody may do this, and verify reports it; here it shows which rows are read.
    await database.pool.query('update finished_shares set ranked = 7')
    expect(await ranked()).toEqual([
      ...they,
      ['2026-01-01', 'We', 7, 1],
      ['2026-01-02', 'We', 7, 1],
    ])
  })

  test('are shown with the brands of rivals', async () => {
    await database.pool.query(`
      insert into own_domains (domain, label, brand) values ('us.com', 'Us', 'We'), ('us.org', 'Us too', 'We');
      insert into rival_domains (domain, label) values ('rival.com', 'Them'), ('rival.org', 'Them')`)
    await new Story(database.pool).night('2026-01-01', {
      shoes: ['rival.org/', 'us.org/', 'rival.com/', 'us.com/'],
    })
    expect(
      await ask('select brand, ours, position, domain from analysis.brand_ranks order by 3'),
    ).toEqual([
      ['Them', false, 1, 'rival.org'],
      ['We', true, 2, 'us.org'],
    ])
  })
})
