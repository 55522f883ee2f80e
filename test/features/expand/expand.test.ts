// @module-tag slow
// A list is expanded by the stand-in's related searches, through planning, queue and workers.
import { describe, expect, test } from 'vitest'
import { expand } from '../../../src/features/expand/expand.ts'
import { openScene } from '../../support/scene.ts'
import { broken, buyRounds, plant, rowsOf, seed, silent, typed } from './seed.ts'

const seeds = Array.from({ length: 6 }, (_, index) => `seed${index} thing`)

/** Recorded sources of added queries that no answer confirms. */
const edgesUnseen = `
  select taken.q
  from expansions
  join queries as taken on taken.id = expansions.query_id
  where not exists (
    select
    from searches
    join search_related_searches named on named.search_id = searches.id
    join related_searches related on related.id = named.related_search_id
    where searches.query_id = expansions.from_query and analysis.canonical(related.q) = taken.q
  )`

/** The rounds, and how many queries of each were not named by the previous round. */
const strayEdges = `
  select
    expansions.round,
    count(*) filter (where source.round is distinct from expansions.round - 1) as strays
  from expansions
  left join (
    select query_id, round from expansions
    union all
    select query_id, 0 from list_queries join lists on lists.id = list_id and lists.name = 'seeds'
  ) as source on source.query_id = expansions.from_query
  group by expansions.round
  order by expansions.round`

/** Queries that the stand-in received, without those of the seed list. */
function bought(api: { charges(): readonly { q: string; charged: number }[] }) {
  return api.charges().filter(({ q }) => !seeds.includes(q))
}

describe('five rounds of expansion', () => {
  test('cost at most the given credits, buy no query twice, and respect each source and the floor', async () => {
    const { api, mill } = await openScene({
      api: { credits: 300, cost: { least: 1, most: 3 } },
      settings: { MILL_CREDIT_FLOOR: '40', MILL_CONCURRENCY: '3' },
    })
    await seed(mill, 'seeds', seeds)
    const outcomes = await buyRounds(mill, typed({ credits: 200, depth: 5 }))
    expect(outcomes.at(-1)?.kind).toBe('spent')
    const paid = bought(api)
    const cost = paid.reduce((sum, { charged }) => sum + charged, 0)
    expect(cost).toBeLessThanOrEqual(200)
    expect(cost).toBeGreaterThan(190)
    expect(new Set(paid.map(({ q }) => q)).size).toBe(paid.length)
    expect(api.least()).toBeGreaterThanOrEqual(40)
    const rounds = await rowsOf(mill, strayEdges)
    expect(rounds).toEqual([1, 2, 3, 4, 5].map((round) => ({ round, strays: 0 })))
    expect(await rowsOf(mill, edgesUnseen)).toEqual([])
    expect(await broken(mill)).toEqual([])
  })

  test('cost at most the given credits although some replies are charged and lost', async () => {
    const { api, mill } = await openScene({ api: { credits: 5_000, cost: 1 } })
    await seed(mill, 'seeds', seeds)
    api.set({ faults: [{ kind: 'drop', chance: 0.3 }] })
    const outcomes = await buyRounds(mill, typed({ credits: 60, depth: 3 }))
    expect(outcomes.at(-1)?.kind).toBe('spent')
    const cost = bought(api).reduce((sum, { charged }) => sum + charged, 0)
    const { lost } = await mill.db
      .selectFrom('calls')
      .select(({ fn }) => fn.countAll<number>().as('lost'))
      .where('outcome', '=', 'unknown')
      .executeTakeFirstOrThrow()
    expect(lost).toBeGreaterThan(2)
    expect(cost).toBeLessThanOrEqual(60)
    expect(cost).toBeGreaterThan(10)
  })

  test('stop at the floor, and continue after a top-up', async () => {
    const { api, mill } = await openScene({
      api: { credits: 60, cost: 1 },
      settings: { MILL_CREDIT_FLOOR: '30' },
    })
    await seed(mill, 'seeds', seeds)
    const order = typed({ credits: 40 })
    expect(await expand(mill, order, silent)).toMatchObject({ kind: 'queued', round: 1 })
    expect(await mill.drain()).toMatchObject({ finish: 'credit_floor' })
    expect(api.balance()).toBe(30)
    expect(await expand(mill, order, silent)).toMatchObject({ kind: 'waiting', round: 1 })
    api.renew(500)
    await mill.drain({ report: () => undefined })
    expect(await broken(mill)).toEqual([])
  })
})

describe('an expansion', () => {
  test('is queued as a run of a separate list with the credits as its budget', async () => {
    const { mill } = await openScene()
    await seed(mill, 'seeds', seeds)
    const { run } = await expand(mill, typed({ credits: 10 }), silent)
    expect(
      await rowsOf(
        mill,
        `select runs.id as run, name, runs.budget, kind, count(*) as tasks, min(priority) as first, max(priority) as last
        from runs join lists on lists.id = list_id join tasks on run_id = runs.id
        where name <> 'seeds' group by runs.id, name`,
      ),
    ).toEqual([
      { run, name: 'seeds-expanded', budget: 10, kind: 'manual', tasks: 10, first: 5, last: 9 },
    ])
  })

  test('adds nothing while its round is not answered', async () => {
    const { api, mill } = await openScene()
    await seed(mill, 'seeds', seeds)
    const order = typed({ credits: 10, depth: 2 })
    await expand(mill, order, silent)
    expect(await expand(mill, order, silent)).toMatchObject({ kind: 'waiting', round: 1 })
    expect(await rowsOf(mill, 'select count(*) as taken from expansions')).toEqual([{ taken: 5 }])
    await buyRounds(mill, order)
    expect(bought(api)).toHaveLength(10)
    // Both runs together may not use more than the given credits, even if failed tasks are tried again.
    expect(await rowsOf(mill, 'select sum(budget) as budgets from runs')).toEqual([{ budgets: 10 }])
  })

  test('adds the next best of the same list when more credits are given', async () => {
    const { api, mill } = await openScene()
    await seed(mill, 'seeds', seeds)
    await buyRounds(mill, typed({ credits: 10 }))
    await buyRounds(mill, typed({ credits: 25 }))
    expect(bought(api)).toHaveLength(25)
    expect(await rowsOf(mill, 'select distinct round from expansions')).toEqual([{ round: 1 }])
    const current = `select count(*) as members from list_queries
      where list_id = (select id from lists where name = 'seeds-expanded')
        and last_seen = (select max(last_seen) from list_queries where list_id = (select id from lists where name = 'seeds-expanded'))`
    expect(await rowsOf(mill, current)).toEqual([{ members: 25 }])
  })

  test('ends when nothing is left to buy', async () => {
    const { mill } = await openScene()
    await seed(mill, 'seeds', ['only this'])
    const outcomes = await buyRounds(mill, typed({ credits: 100 }))
    expect(outcomes.at(-1)).toMatchObject({ kind: 'exhausted', found: { candidates: 0 } })
    expect(await rowsOf(mill, 'select count(*) as taken from expansions')).toEqual([{ taken: 8 }])
  })

  test('uses the language, country, place, device and number of results of its source', async () => {
    const { api, mill } = await openScene()
    await plant(mill, 'seeds', [
      'query,hl,gl,location,num,device',
      'shoes,de,at,"Vienna, Austria",20,mobile',
    ])
    await mill.drain()
    await buyRounds(mill, typed({ credits: 8 }))
    const asked = api.charges().slice(1)
    expect(asked).toHaveLength(8)
    for (const { hl, gl, location, num, device } of asked) {
      expect({ hl, gl, location, num, device }).toEqual({
        hl: 'de',
        gl: 'at',
        location: 'Vienna, Austria',
        num: 20,
        device: 'mobile',
      })
    }
  })

  test('does not add what another list already buys', async () => {
    const { api, mill } = await openScene()
    await seed(mill, 'seeds', ['shoes'])
    const [{ q } = { q: '' }] = await rowsOf<{ q: string }>(
      mill,
      'select q from related_searches limit 1',
    )
    await seed(mill, 'others', [q])
    await buyRounds(mill, typed({ credits: 20 }))
    expect(api.charges().filter((charge) => charge.q === q)).toHaveLength(1)
    expect(api.charges()).toHaveLength(1 + 1 + 7)
  })

  test('first buys again what was cancelled before it was bought', async () => {
    const { api, mill } = await openScene()
    await seed(mill, 'seeds', seeds)
    const order = typed({ credits: 6 })
    const { run } = await expand(mill, order, silent)
    await rowsOf(
      mill,
      `update runs set state = 'cancelled', finished_at = now() where id = ${run};
      update tasks set state = 'cancelled', finished_at = now() where run_id = ${run};
      update slices set done_at = now() where run_id = ${run}`,
    )
    expect(await expand(mill, order, silent)).toMatchObject({ kind: 'queued', again: 6 })
    await buyRounds(mill, order)
    expect(bought(api)).toHaveLength(6)
    expect(await broken(mill)).toEqual([])
  })

  test('buys what its credits did not cover, once more are given', async () => {
    const { api, mill } = await openScene({ settings: { MILL_CONCURRENCY: '1' } })
    await seed(mill, 'seeds', seeds)
    await expand(mill, typed({ credits: 10 }), silent)
    api.set({ cost: 2 })
    await mill.drain()
    expect(await mill.states()).toMatchObject({ unaffordable: 5 })
    await buyRounds(mill, typed({ credits: 20 }))
    const paid = bought(api)
    expect(paid.reduce((sum, { charged }) => sum + charged, 0)).toBe(20)
    expect(new Set(paid.map(({ q }) => q)).size).toBe(10)
    expect(await broken(mill)).toEqual([])
  })

  test('that is previewed changes nothing', async () => {
    const { mill } = await openScene()
    await seed(mill, 'seeds', seeds)
    const shown: number[] = []
    const outcome = await expand(mill, typed({ credits: 10 }), {
      ...silent,
      preview: true,
      show: ({ queries }) => shown.push(queries.length),
    })
    expect(outcome).toMatchObject({
      kind: 'previewed',
      found: { preview: { estimate: { credits: 10, worst: 10 }, balance: { after: 9_984 } } },
    })
    expect(shown).toEqual([10])
    expect(
      await rowsOf(
        mill,
        'select (select count(*) from lists) as lists, (select count(*) from queries) as queries, (select count(*) from expansions) as taken, (select count(*) from runs) as runs',
      ),
    ).toEqual([{ lists: 1, queries: 6, taken: 0, runs: 1 }])
  })
})

describe('a list that cannot be expanded', () => {
  test('is unknown, or has no answer', async () => {
    const { mill } = await openScene()
    await expect(expand(mill, typed({ credits: 5 }), silent)).rejects.toThrow(
      /expected --list to be the name of a list, got "seeds"/,
    )
    await plant(mill, 'seeds', ['query', 'shoes'])
    await expect(expand(mill, typed({ credits: 5 }), silent)).rejects.toThrow(
      /expected readable answers to queries in the list "seeds"/,
    )
  })
})
