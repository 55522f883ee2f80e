// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { tellByChance } from './chance.ts'
import { type Base, moversOf, type Pair, readBase, stepsOf } from './oracle.ts'
import { placed, Story, ten } from './story.ts'

let database: FreshDatabase
let story: Story
beforeEach(async () => {
  database = await freshDatabase()
  story = new Story(database.pool)
  await database.pool.query(
    "insert into own_domains (domain, label) values ('d0.com', 'Us'), ('d1.com', 'Us too')",
  )
})
afterEach(() => database.close())

async function ask(text: string, ...values: unknown[]): Promise<unknown[][]> {
  return (await database.pool.query<unknown[]>({ text, values, rowMode: 'array' })).rows
}

const lines = (rows: readonly (readonly unknown[])[]) => rows.map((row) => row.join(' ')).toSorted()
const near = (value: unknown) => (value === null ? 'none' : Number(value).toFixed(7))

/** Stays in the top 10, by consecutive answers, without those that the oldest answer of a series already shows. */
async function staysOf(base: Base): Promise<readonly { length: number; lasts: boolean }[]> {
  const shown = new Map<number, Set<string>>()
  for (const [search, key] of (await ask(
    'select search_id, url_key from organic_results join pages on pages.id = page_id where position <= 10',
  )) as [number, string][]) {
    shown.set(search, (shown.get(search) ?? new Set()).add(key))
  }
  const series = new Map<string, number[]>()
  for (const { now } of stepsOf(base)) {
    series.set(now.series, [...(series.get(now.series) ?? []), now.search])
  }
  return [...series.values()].flatMap((searches) => {
    const keys = new Set(searches.flatMap((search) => [...(shown.get(search) ?? [])]))
    return [...keys].flatMap((key) => {
      const there = searches.map((search) => shown.get(search)?.has(key) === true)
      const stays: { length: number; lasts: boolean }[] = []
      for (let at = 0; at < there.length; at++) {
        if (there[at] !== true) continue
        const start = at
        while (there[at + 1] === true) at++
        if (start > 0) stays.push({ length: at - start + 1, lasts: at === there.length - 1 })
      }
      return stays
    })
  })
}

describe('stays in the top 10', () => {
  test.each(histories)(
    'last for as many answers as Kaplan and Meier estimate, history %i',
    async (seed) => {
      await tellByChance(story, { seed, days: 12, domains: 4, restless: 2 })
      const stays = await staysOf(await readBase(database.pool))
      let survival = 1
      let spread = 0
      const expected = [...new Set(stays.map(({ length }) => length))]
        .toSorted((a, b) => a - b)
        .map((length) => {
          const risk = stays.filter((stay) => stay.length >= length).length
          const ended = stays.filter((stay) => stay.length === length && !stay.lasts).length
          survival *= 1 - ended / risk
          spread += ended === risk ? 0 : ended / (risk * (risk - ended))
          const wide = 1.96 * survival * Math.sqrt(spread)
          const [low, high] = [Math.max(0, survival - wide), Math.min(1, survival + wide)]
          return [length, risk, ended, near(survival), near(low), near(high)]
        })
      expect(expected.length).toBeGreaterThan(1)
      const said = await ask(
        'select answers, at_risk, ended, survival, low, high from analysis.top_ten_survival',
      )
      expect(lines(said.map(([a, b, c, ...rest]) => [a, b, c, ...rest.map(near)]))).toEqual(
        lines(expected),
      )
    },
  )

  test('that still last keep the estimate up; counting them as ended would lower it', async () => {
    const first = ['a.com/', 'b.com/']
    await story.night('2026-01-01', { shoes: ['x.com/'] })
    for (const day of ['2026-01-02', '2026-01-03']) await story.night(day, { shoes: first })
    await story.night('2026-01-04', { shoes: ['b.com/', 'c.com/'] })
    // a.com ended after two answers, b.com lasts after three, c.com after one; x.com was there from the beginning.
    expect(
      await ask(
        'select answers, at_risk, ended, lasting, survival from analysis.top_ten_survival order by 1',
      ),
    ).toEqual([
      [1, 3, 0, 1, 1],
      [2, 2, 1, 0, 0.5],
      [3, 1, 0, 1, 0.5],
    ])
  })
})

describe('a move', () => {
  test.each(histories)(
    'is compared with all moves in the earlier answers to its query, history %i',
    async (seed) => {
      const days = await tellByChance(story, { seed, days: 9, restless: 2 })
      const base = await readBase(database.pool)
      const steps = stepsOf(base).filter((step): step is Pair => step.before !== null)
      const movesOf = (pairs: readonly Pair[]) =>
        moversOf(pairs, base.places).map((row) => row.split(' '))
      const expected = days.flatMap((day) =>
        movesOf(steps.filter(({ now }) => now.day === day)).flatMap((row) => {
          const [query = '', , domain = '', before, now, places] = row
          if (!['d0.com', 'd1.com'].includes(domain) || before === now) return []
          const earlier = movesOf(
            steps
              .filter((step) => step.now.query === query && step.now.day < day)
              .toSorted((a, b) => (a.now.day < b.now.day ? 1 : -1))
              .slice(0, 5),
          )
          const great = earlier.filter((other) => Number(other[5]) >= Number(places)).length
          const chance = (great + 1) / (earlier.length + 1)
          const verdict = chance <= 0.05 ? 'significant' : 'noise'
          return [
            [
              query,
              day,
              domain,
              earlier.length,
              great,
              near(chance),
              earlier.length < 60 ? 'unknown' : verdict,
            ],
          ]
        }),
      )
      const said = await ask(
        `select query_id, run_date, domain, earlier_moves, as_great, chance, verdict
        from unnest($1::date[]) as day
        cross join lateral analysis.judged_moves(day, array['d0.com', 'd1.com'], 5)`,
        days,
      )
      expect(lines(said.map(([a, b, c, d, e, f, g]) => [a, b, c, d, e, near(f), g]))).toEqual(
        lines(expected),
      )
    },
  )

  test('is significant for a stable query, noise for a volatile one, and unknown with few earlier moves', async () => {
    const quiet = ten('q')
    for (let day = 1; day <= 10; day++) {
      const date = `2026-01-${String(day).padStart(2, '0')}`
      const last = day === 10
      const turned = [...ten('r').slice(day % 10), ...ten('r').slice(0, day % 10)]
      await story.night(date, {
        quiet: last ? placed(quiet, 2, 'd0.com/') : placed(quiet, 9, 'd0.com/'),
        restless: placed(turned, last ? 2 : 9, 'd0.com/'),
        ...(day > 8 ? { young: placed(quiet, last ? 2 : 9, 'd0.com/') } : {}),
      })
    }
    expect(
      await ask(
        "select q, verdict from analysis.judged_moves('2026-01-10', array['d0.com']) order by q",
      ),
    ).toEqual([
      ['quiet', 'significant'],
      ['restless', 'noise'],
      ['young', 'unknown'],
    ])
  })
})
