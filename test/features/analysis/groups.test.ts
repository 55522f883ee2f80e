// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { tellByChance } from './chance.ts'
import { Story, ten } from './story.ts'

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

describe('groups of queries', () => {
  const pages = (group: string) => ten(group).slice(0, 4)

  test('that split, merge, appear, disappear and stay are shown with the shared queries', async () => {
    await story.night('2026-01-01', {
      ...{ a1: pages('a'), a2: pages('a'), a3: pages('a'), a4: pages('a') },
      ...{ b1: pages('b'), b2: pages('b'), c1: pages('c'), c2: pages('c') },
      ...{
        d1: pages('d'),
        d2: pages('d'),
        k1: pages('k'),
        k2: pages('k'),
        n1: ['x.com/'],
        n2: ['y.com/'],
      },
      zz: pages('k'),
    })
    await story.night('2026-01-08', {
      ...{ a1: pages('a'), a2: pages('a'), a3: pages('z'), a4: pages('z') },
      ...{ b1: pages('b'), b2: pages('b'), c1: pages('b'), c2: pages('b') },
      ...{
        d1: ['x.com/'],
        d2: ['y.com/'],
        k1: pages('k'),
        k2: pages('k'),
        n1: pages('n'),
        n2: pages('n'),
      },
    })
    expect(
      await ask(`select change, previous_group, group_name, queries, previous_size, size
        from analysis.group_changes('2026-01-01', '2026-01-08') order by 1, 2, 3`),
    ).toEqual([
      ['gone', 'd1', null, 2, 2, null],
      ['kept', 'k1', 'k1', 2, 2, 2],
      ['merged', 'b1', 'b1', 2, 2, 4],
      ['merged', 'c1', 'b1', 2, 2, 4],
      ['new', null, 'n1', 2, null, 2],
      ['split', 'a1', 'a1', 2, 4, 2],
      ['split', 'a1', 'a3', 2, 4, 2],
    ])
  })

  test.each(histories)(
    'are compared over the queries that both days answer, each query in one row, history %i',
    async (seed) => {
      const days = await tellByChance(story, { seed, days: 6, domains: 3, restless: 4 })
      const [since = '', until = ''] = [days[0], days.at(-1)]
      const both = new Set(
        (
          await ask(
            `select query_id from analysis.observations where run_date in ($1, $2)
          group by query_id having count(*) = 2`,
            since,
            until,
          )
        ).map(([query]) => String(query)),
      )
      const groupOf = async (day: string) =>
        new Map(
          (await ask('select query_id, group_id from analysis.keyword_groups_on($1, 2)', day))
            .filter(([query]) => both.has(String(query)))
            .map(([query, cluster]) => [String(query), String(cluster)]),
        )
      const [before, now] = [await groupOf(since), await groupOf(until)]
      const pairs = [...new Set([...before.keys(), ...now.keys()])].map(
        (query) => [before.get(query) ?? '', now.get(query) ?? ''] as const,
      )
      const count = (side: 0 | 1, group: string) =>
        new Set(
          pairs
            .filter((pair) => pair[side] === group && pair[1 - side] !== '')
            .map((pair) => pair[1 - side]),
        ).size
      const expected = [...new Set(pairs.map((pair) => pair.join(' ')))].map((key) => {
        const [from = '', to = ''] = key.split(' ')
        const queries = pairs.filter((pair) => pair.join(' ') === key).length
        return [nameOf({ from, to, heirs: count(0, from), origins: count(1, to) }), queries]
      })
      expect(
        lines(
          await ask('select change, queries from analysis.group_changes($1, $2, 2)', since, until),
        ),
      ).toEqual(lines(expected))
    },
  )
})

function nameOf(kin: { from: string; to: string; heirs: number; origins: number }): string {
  const { from, to, heirs, origins } = kin
  if (to === '') return heirs === 0 ? 'gone' : 'left'
  if (from === '') return origins === 0 ? 'new' : 'joined'
  const words = [heirs > 1 ? 'split' : '', origins > 1 ? 'merged' : ''].filter(
    (word) => word !== '',
  )
  return words.join(' and ') || 'kept'
}

describe('the cost of an insight', () => {
  test.each(histories)(
    'is the credits of the day divided by the losses that it confirmed, history %i',
    async (seed) => {
      await tellByChance(story, { seed, days: 10, restless: 4 })
      const spent = (await ask(`select run_date, coalesce(sum(credits_used), 0) from runs
        join tasks on tasks.run_id = runs.id left join calls on calls.task_id = tasks.id group by run_date`)) as [
        string,
        number,
      ][]
      const losses = (await ask('select run_date, domain from analysis.confirmed_losses')) as [
        string,
        string,
      ][]
      const expected = spent.map(([day, credits]) => {
        const all = losses.filter(([date]) => date === day)
        const own = all.filter(([, domain]) => ['d0.com', 'd1.com'].includes(domain)).length
        const each = (count: number) => near(count === 0 ? null : credits / count)
        return [day, 'main', credits, all.length, own, each(all.length), each(own)]
      })
      const said =
        await ask(`select run_date, list, credits_used, losses, own_losses, credits_per_loss, credits_per_own_loss
        from analysis.insight_costs`)
      expect(lines(said.map(([a, b, c, d, e, f, g]) => [a, b, c, d, e, near(f), near(g)]))).toEqual(
        lines(expected),
      )
    },
  )
})
