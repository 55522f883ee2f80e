// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { tellByChance } from './chance.ts'
import { readBase } from './oracle.ts'
import { Story } from './story.ts'

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

interface Member {
  readonly query: string
  readonly weight: number
  readonly tags: readonly string[]
}

/** The values of each query in the only list, which never changed. */
async function readMembers(): Promise<ReadonlyMap<string, Member>> {
  const { rows } = await database.pool.query<Member>(
    `select query_id as query, coalesce(weight, 1) as weight, tags || '*'::text || coalesce('device=' || device, '*') as tags
    from list_queries join queries on queries.id = query_id`,
  )
  return new Map(rows.map((row) => [row.query, { ...row, tags: [...new Set(row.tags)] }]))
}

describe('a share of voice', () => {
  test.each(histories)(
    'lies between the bounds of the unanswered queries, history %i',
    async (seed) => {
      const days = await tellByChance(story, { seed, days: 4 })
      const { answers, places } = await readBase(database.pool)
      const members = await readMembers()
      const planned = (await ask(
        'select distinct run_date, query_id from tasks join runs on runs.id = run_id',
      )) as [string, string][]
      const curve = new Map(
        (await ask('select position, ctr from ctr_curve')) as [number, number][],
      )
      const weigh = (queries: readonly string[]) =>
        queries.reduce((sum, query) => sum + (members.get(query)?.weight ?? 1), 0)
      const expected = days.flatMap((day) =>
        ['*', 'red', 'device=mobile'].flatMap((tag) => {
          const holds = (query: string) => members.get(query)?.tags.includes(tag) === true
          const own = answers.filter((one) => one.day === day && holds(one.query))
          const asked = planned.filter(([date, query]) => date === day && holds(query))
          const all = weigh(asked.map(([, query]) => query))
          const known = weigh(own.map(({ query }) => query))
          const shown = own.flatMap(({ search }) => [...(places.get(search)?.keys() ?? [])])
          const domains = own.length === 0 ? [] : [...new Set(['d0.com', 'd1.com', ...shown])]
          return domains.map((domain) => {
            const clicks = own.reduce((sum, { query, search }) => {
              const place = places.get(search)?.get(domain) ?? 0
              return sum + weigh([query]) * (curve.get(place) ?? 0)
            }, 0)
            const open = (all - known) * (curve.get(1) ?? 0)
            const ends = [clicks / known, clicks / all, (clicks + open) / all].map(near)
            return [day, tag, domain, ...ends, own.length, asked.length - own.length]
          })
        }),
      )
      const said =
        await ask(`select run_date, tag, domain, share_of_voice, low, high, queries, unanswered
        from analysis.share_bounds where tag in ('*', 'red', 'device=mobile')`)
      expect(
        lines(
          said.map(([a, b, c, d, e, f, ...rest]) => [a, b, c, near(d), near(e), near(f), ...rest]),
        ),
      ).toEqual(lines(expected))
    },
  )
})

describe('volatility', () => {
  test.each(histories)(
    'by label, device and day of the week follows from its queries and nights, history %i',
    async (seed) => {
      await tellByChance(story, { seed, days: 40, restless: 2 })
      const members = await readMembers()
      const single = (await ask(
        'select run_date, query_id, volatility from analysis.volatility',
      )) as [string, string, number][]
      const groups = new Map<string, [number, number][]>()
      for (const [day, query, volatility] of single) {
        const { tags = [], weight = 1 } = members.get(query) ?? {}
        for (const tag of [...tags, 'list=main']) {
          groups.set(`${day} ${tag}`, [
            ...(groups.get(`${day} ${tag}`) ?? []),
            [volatility, weight],
          ])
        }
      }
      const expected = [...groups].map(([key, found]) => {
        const sum = found.reduce((total, [value]) => total + value, 0)
        const weighted = found.reduce((total, [value, weight]) => total + value * weight, 0)
        const weights = found.reduce((total, [, weight]) => total + weight, 0)
        const changed = found.filter(([value]) => value > 0).length
        return [key, found.length, changed, near(sum / found.length), near(weighted / weights)]
      })
      const said = await ask(
        'select run_date, tag, queries, changed, volatility, weighted_volatility from analysis.volatility_days',
      )
      expect(lines(said.map(([a, b, c, d, e, f]) => [a, b, c, d, near(e), near(f)]))).toEqual(
        lines(expected),
      )
      const nights = (await ask(
        'select extract(isodow from run_date)::integer, volatility from analysis.volatility_nights',
      )) as [number, number][]
      const weekdays = [...new Set(nights.map(([weekday]) => weekday))].map((weekday) => {
        const own = nights.filter(([one]) => one === weekday).map(([, value]) => value)
        const others = nights.filter(([one]) => one !== weekday).map(([, value]) => value)
        const error =
          own.length >= 4 && others.length >= 4
            ? Math.sqrt(variance(own) / own.length + variance(others) / others.length)
            : null
        return [weekday, own.length, near(mean(own)), near(mean(own) - mean(others)), near(error)]
      })
      const told = await ask(
        'select weekday, nights, volatility, difference, standard_error from analysis.volatility_weekdays',
      )
      expect(lines(told.map(([a, b, ...rest]) => [a, b, ...rest.map(near)]))).toEqual(
        lines(weekdays),
      )
    },
  )
})

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function variance(values: readonly number[]): number {
  const middle = mean(values)
  return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1)
}
