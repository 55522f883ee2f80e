// @module-tag slow
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { findQuestion, readQuestions } from '../../../src/features/analysis/library.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { type Base, dice, moversOf, type Pair, pairsOf, readBase, stepsOf } from './oracle.ts'
import { type Answers, placed, Story, ten } from './story.ts'

let database: FreshDatabase

async function ask(typed: string, ...flags: string[]): Promise<(string | null)[][]> {
  const reading = { ...findQuestion(typed, flags), timeoutMs: 20_000, warn: () => undefined }
  const found: (string | null)[][] = []
  for await (const { rows } of readBatches(database.pool, reading)) {
    found.push(...rows.map((row) => [...row]))
  }
  return found
}

const lines = (rows: readonly (readonly unknown[])[]) => rows.map((row) => row.join(' ')).toSorted()

interface Told {
  /** The labels of each query on each day. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>
  readonly weights: ReadonlyMap<string, number>
}

/** Nights of two lists whose queries change their labels, with gaps. */
async function tell(seed: number): Promise<Told> {
  const roll = dice(seed)
  const story = new Story(database.pool)
  const labels = new Map<string, Set<string>>()
  const weights = new Map<string, number>()
  const asked = { shoes: {}, 'boots @m': { device: 'mobile', gl: 'us' }, 'boots @d': { gl: 'de' } }
  for (const day of ['2026-01-29', '2026-01-30', '2026-02-01', '2026-02-02']) {
    for (const list of roll(2) === 0 ? ['main', 'second'] : ['main']) {
      const answers: Record<string, Answers[string]> = {}
      for (const [q, said] of Object.entries(asked)) {
        if (roll(6) === 0) continue
        const tags = ['brand', 'red shoes', 'old'].filter(() => roll(2) === 0)
        story.says(q, { ...said, weight: 1 + roll(5), tags } as Parameters<Story['says']>[1])
        const results = Array.from({ length: 1 + roll(6) }, () => `d${roll(7)}.com/`)
        answers[q] = roll(5) === 0 ? 'failed' : { results, depth: 10 }
        const key = `${story.idOf(q)} ${day}`
        const kinds = 'gl' in said ? [`country=${said.gl}`] : []
        if ('device' in said) kinds.push(`device=${said.device}`)
        labels.set(key, new Set([...(labels.get(key) ?? []), ...tags, ...kinds, `list=${list}`]))
      }
      await story.night(day, answers, { list })
    }
  }
  const { rows } = await database.pool.query<{ key: string; weight: number }>(
    "select query_id || ' ' || run_date as key, weight from analysis.query_days",
  )
  for (const { key, weight } of rows) weights.set(key, weight)
  return { labels, weights }
}

/** Share of voice of each domain on each day, from the answers of a slice. */
function sharesOf({ answers, places }: Base, weights: Told['weights'], curve: Map<number, number>) {
  return [...new Set(answers.map(({ day }) => day))].flatMap((day) => {
    const own = answers.filter((one) => one.day === day)
    const weigh = ({ query }: { query: string }) => weights.get(`${query} ${day}`) ?? 0
    const whole = own.reduce((sum, one) => sum + weigh(one), 0)
    const clicks = new Map<string, number>()
    for (const one of own) {
      for (const [domain, place] of places.get(one.search) ?? []) {
        const more = weigh(one) * (curve.get(place) ?? 0)
        clicks.set(domain, (clicks.get(domain) ?? 0) + more)
      }
    }
    return [...clicks].map(([domain, sum]) => [day, domain, (sum / whole).toFixed(9)])
  })
}

const slices: readonly (readonly [
  readonly string[],
  (has: (label: string) => boolean) => boolean,
])[] = [
  [['--device', 'mobile'], (has) => has('device=mobile')],
  [['--country', 'us,de'], (has) => has('country=us') || has('country=de')],
  [['--list', 'second'], (has) => has('list=second')],
  [
    ['--tag', 'red shoes and not (brand or old)'],
    (has) => has('red shoes') && !has('brand') && !has('old'),
  ],
  [
    ['--tag', 'brand or old', '--country', 'us'],
    (has) => (has('brand') || has('old')) && has('country=us'),
  ],
  [
    ['--tag', 'brand', '--tag', 'not device=mobile'],
    (has) => has('brand') && !has('device=mobile'),
  ],
]

describe('slices over random histories', () => {
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.close())

  test.each(histories)(
    'steps, moves, moves between days and shares are those of the queries with the labels, history %i',
    async (seed) => {
      const { labels, weights } = await tell(seed)
      const base = await readBase(database.pool)
      const curve = new Map(
        (await ask('select position, ctr from ctr_curve')).map(([at, ctr]) => [
          Number(at),
          Number(ctr),
        ]),
      )
      for (const [flags, holds] of slices) {
        const answers = base.answers.filter(({ query, day }) =>
          holds((label) => labels.get(`${query} ${day}`)?.has(label) === true),
        )
        const sliced = { ...base, answers }
        const steps = stepsOf(sliced)
        expect(
          lines(await ask('select query_id, run_date, search_id from analysis.steps', ...flags)),
        ).toEqual(lines(steps.map(({ now }) => [now.query, now.day, now.search])))
        const said = 'query_id, run_date, domain, previous_position, position, places'
        const moved = steps.filter((step): step is Pair => step.before !== null)
        expect(lines(await ask(`select ${said} from analysis.movers`, ...flags))).toEqual(
          moversOf(moved, base.places),
        )
        const between = "analysis.movers_between('2026-01-30', '2026-02-02')"
        expect(lines(await ask(`select ${said} from ${between}`, ...flags))).toEqual(
          moversOf(pairsOf(sliced, '2026-01-30', '2026-02-02'), base.places),
        )
        const share = 'round(share_of_voice::numeric, 9)'
        expect(
          lines(
            await ask(
              `select run_date, domain, ${share} from analysis.share_of_voice where tag = '*'`,
              ...flags,
            ),
          ),
        ).toEqual(lines(sharesOf(sliced, weights, curve)))
      }
    },
  )
})

describe('flags of the library', () => {
  const needed: Readonly<Record<string, string>> = {
    ...{ q: 'shoes', word: 'sho', rival: 'r1.com', page: 'us.com/wrong' },
  }
  const questions = readQuestions()

  beforeAll(async () => {
    database = await freshDatabase()
    await database.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
    const story = new Story(database.pool)
    const words = { entities: ['Foot', 'Leather'], clusters: ['Feet'], related: ['red shoes'] }
    story.says('shoes', { tags: ['red'], target: 'us.com/right' })
    story.says('boots @m', { device: 'mobile' }).says('boots @d', { device: 'desktop' })
    for (const [day, place] of [
      ['2026-01-01', 3],
      ['2026-01-02', 5],
      ['2026-01-03', 9],
    ] as const) {
      const results = placed(ten('r'), place, 'us.com/wrong')
      const serp = { ...words, results, titles: [day], intent: day }
      await story.night(day, { shoes: serp, 'boots @m': serp, 'boots @d': serp, lost: 'failed' })
    }
  })
  afterAll(() => database.close())

  const flagsOf = ({ parameters }: (typeof questions)[number]) =>
    parameters
      .filter(({ fallback }) => fallback === undefined)
      .map(({ name }) => `--${name}=${needed[name]}`)

  test.each(questions.filter(({ narrows }) => narrows.includes('tag')))(
    'the question $name has no rows for a label that no query has',
    async (question) => {
      expect(await ask(question.name, ...flagsOf(question), '--tag', 'nobody')).toEqual([])
    },
  )

  test.each(
    questions.filter(
      ({ narrows, sql }) => narrows.includes('since') && !sql.includes('analysis.since('),
    ),
  )('the question $name has no rows for a time before the first answer', async (question) => {
    const between = '--between=2025-01-01..2025-12-31'
    expect(await ask(question.name, ...flagsOf(question), between)).toEqual([])
  })

  test('two days may be named instead of a day and a number of days', async () => {
    const counted = await ask('ranks', '--day', '2026-01-02', '--days', '1')
    expect(counted.length).toBeGreaterThan(0)
    expect(await ask('ranks', '--between', '2026-01-01..2026-01-02')).toEqual(counted)
    expect(await ask('ranks', '--since', '2026-01-01', '--day', '2026-01-02')).toEqual(counted)
  })

  test('the share of voice by device equals that of a slice with each device', async () => {
    const together = await ask('shares', '--by', 'device')
    expect(new Set(together.map(([, , device]) => device))).toEqual(new Set(['desktop', 'mobile']))
    for (const [, domain, device, , ...held] of together) {
      const alone = await ask('shares', '--device', device ?? '')
      expect(alone.find((row) => row[1] === domain)?.slice(4)).toEqual(held)
    }
  })

  test('one list has its own newest day', async () => {
    const story = new Story(database.pool)
    await story.night('2026-01-04', { hats: ten('h') }, { list: 'adhoc' })
    expect((await ask('keyword', '--q', 'hats')).length).toBe(0)
    expect((await ask('keyword', '--q', 'hats', '--list', 'adhoc')).length).toBe(10)
  })
})
