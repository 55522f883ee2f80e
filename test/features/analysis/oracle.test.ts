// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { dice, moversOf, type Pair, pairsOf, readBase, stepsOf } from './oracle.ts'
import { type Answers, Story } from './story.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
})
afterEach(() => database.close())

async function ask(text: string, ...values: unknown[]): Promise<unknown[][]> {
  return (await database.pool.query<unknown[]>({ text, values, rowMode: 'array' })).rows
}

const lines = (rows: unknown[][]) => rows.map((row) => row.join(' ')).toSorted()

const queries = ['shoes', 'boots @m', 'boots @d', 'hats']

/**
 * Nights with failed, missing, reused, skipped, empty and shallow answers, of two APIs and origins, around the end of a
 * month.
 */
async function tell(seed: number): Promise<readonly string[]> {
  const roll = dice(seed)
  const story = new Story(database.pool)
    .says('shoes', { weight: 1 + roll(9) })
    .says('boots @m', { device: 'mobile' })
    .says('boots @d', { device: 'desktop', weight: 3 })
  const days = ['2026-01-28', '2026-01-30', '2026-01-31', '2026-02-01', '2026-02-03', '2026-03-10']
  for (const day of days) {
    for (const list of roll(3) === 0 ? ['main', 'second'] : ['main']) {
      const answers: Record<string, Answers[string]> = {}
      for (const q of queries) {
        const kind = roll(9)
        if (kind === 0) answers[q] = 'failed'
        else if (kind === 1) answers[q] = 'reused'
        else if (kind === 8) answers[q] = 'not_asked'
        else if (kind > 2) answers[q] = { results: draw(roll), depth: 1 + roll(8) + 5 }
        else if (roll(2) === 0) answers[q] = { results: [], depth: 0 }
      }
      const origin = roll(9) === 0 ? 'sandbox' : 'live'
      const api = roll(7) === 0 ? 'other.example.com' : 'api.example.com'
      await story.night(day, answers, { list, origin, api })
    }
  }
  return days
}

function draw(roll: (sides: number) => number): string[] {
  const count = 1 + roll(6)
  return Array.from(
    { length: count },
    () => `${roll(3) === 0 ? 'www.' : ''}d${roll(7)}.com/${roll(3)}`,
  )
}

describe('over random histories', () => {
  test.each(histories)(
    'steps, moves of a day and moves between two days follow from the base tables, history %i',
    async (seed) => {
      const days = await tell(seed)
      const base = await readBase(database.pool)
      const steps = stepsOf(base)
      const told = steps.map(({ now, before }) => [now.query, now.day, now.search, before?.search])
      const columns = 'query_id, run_date, search_id, previous_search_id'
      expect(lines(await ask(`select ${columns} from analysis.steps`))).toEqual(lines(told))
      const moves = moversOf(
        steps.filter((step): step is Pair => step.before !== null),
        base.places,
      )
      const said = 'query_id, run_date, domain, previous_position, position, places'
      expect(lines(await ask(`select ${said} from analysis.movers`))).toEqual(moves)
      const daily = `from unnest($1::date[]) as day cross join lateral`
      expect(
        lines(await ask(`select ${columns} ${daily} analysis.steps_on(day) as steps`, days)),
      ).toEqual(lines(told))
      expect(
        lines(await ask(`select ${said} ${daily} analysis.movers_on(day) as moved`, days)),
      ).toEqual(moves)
      for (const [since, until] of [
        ['2026-01-29', '2026-02-02'],
        ['2026-01-31', '2026-02-03'],
        ['2026-02-03', '2026-03-10'],
      ] as const) {
        expect(
          lines(await ask(`select ${said} from analysis.movers_between($1, $2)`, since, until)),
        ).toEqual(moversOf(pairsOf(base, since, until), base.places))
      }
    },
  )

  test.each([31, 32, 34])('losses and gains add up over the flows, history %i', async (seed) => {
    await tell(seed)
    const base = await readBase(database.pool)
    const [since, until] = ['2026-01-29', '2026-02-03'] as const
    const curve = new Map(
      (await ask('select position, ctr from analysis.ctr')).map(([place, ctr]) => [place, ctr]),
    )
    const weights = new Map(
      (await ask('select query_id, weight from analysis.latest_weights')).map(([id, weight]) => [
        id,
        weight,
      ]),
    )
    const clicks = (query: unknown, place: unknown) =>
      Number(weights.get(query) ?? 1) * Number(curve.get(Number(place)) ?? 0)
    const gains = (
      await ask(
        'select query_id, domain, previous_position, position from analysis.movers_between($1, $2)',
        since,
        until,
      )
    ).map(([query, domain, before, now]) => ({
      key: `${String(query)} ${String(domain)}`,
      gain: clicks(query, now) - clicks(query, before),
    }))
    expect(pairsOf(base, since, until).length).toBeGreaterThan(0)
    const flows = await ask(
      'select query_id, loser, taker, clicks from analysis.flows_between($1, $2)',
      since,
      until,
    )
    const sums = new Map<string, number>()
    for (const [query, loser, taker, amount] of flows) {
      expect(Number(amount)).toBeGreaterThanOrEqual(0)
      const add = (domain: unknown, sign: number) => {
        const key = `${String(query)} ${String(domain)}`
        sums.set(key, (sums.get(key) ?? 0) + sign * Number(amount))
      }
      if (loser !== null) add(loser, -1)
      if (taker !== null) add(taker, 1)
    }
    for (const { key, gain } of gains) expect(sums.get(key) ?? 0).toBeCloseTo(gain, 9)
  })
})

describe('the newest day', () => {
  const many = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`q${n}`, ['a.com/']]))

  test('is not that of a list of one query, of a failed night or of one that has just begun', async () => {
    const story = new Story(database.pool)
    await story.night('2026-01-01', many)
    await story.night('2026-01-02', many)
    await story.night('2026-01-03', { alone: ['b.com/'] }, { list: 'adhoc' })
    await story.night('2026-01-04', {
      ...Object.fromEntries(Object.keys(many).map((q) => [q, 'failed'])),
    })
    expect(await ask('select analysis.newest_day()')).toEqual([['2026-01-02']])
    expect(await ask("select analysis.newest_day('adhoc')")).toEqual([['2026-01-03']])
    expect(await ask('select run_date, answered, thin from analysis.days order by 1')).toEqual([
      ['2026-01-01', 6, false],
      ['2026-01-02', 6, false],
      ['2026-01-03', 1, true],
      ['2026-01-04', 0, true],
    ])
  })

  test('is the newest with any answer if no day is full, and none if nothing was answered', async () => {
    expect(await ask('select analysis.newest_day()')).toEqual([[null]])
    const story = new Story(database.pool)
    await story.night('2026-01-01', { q0: ['a.com/'], q1: 'failed', q2: 'failed' })
    expect(await ask('select analysis.newest_day()')).toEqual([['2026-01-01']])
  })
})
