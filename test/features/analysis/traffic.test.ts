// @module-tag slow
import { describe, expect, test } from 'vitest'
import { openPool } from '../../../src/base/database/database.ts'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { findQuestion } from '../../../src/features/analysis/library.ts'
import { histories } from '../../support/schedules.ts'
import { tellByChance } from './chance.ts'
import { dice, readBase } from './oracle.ts'
import { storyScene } from './scene.ts'

const scene = storyScene()

async function ask(text: string, ...values: unknown[]): Promise<unknown[][]> {
  return (await scene.pool.query<unknown[]>({ text, values, rowMode: 'array' })).rows
}

async function answer(typed: string, ...flags: string[]): Promise<(string | null)[][]> {
  const reading = { ...findQuestion(typed, flags), timeoutMs: 20_000, warn: () => undefined }
  const found: (string | null)[][] = []
  for await (const { rows } of readBatches(scene.pool, reading)) {
    found.push(...rows.map((row) => [...row]))
  }
  return found
}

describe('estimated traffic', () => {
  test.each(histories)(
    'is volume times the share of its position, for queries whose lists name a volume, history %i',
    async (seed) => {
      await tellByChance(scene.story, { seed, days: 3 })
      const roll = dice(seed)
      const { rows: listed } = await scene.pool.query<{ query: string; weight: number | null }>(
        'select query_id as query, weight from list_queries',
      )
      const prices = new Map<string, number | null>()
      for (const { query } of listed) {
        const cpc = roll(2) === 0 ? null : roll(400) / 100
        prices.set(query, cpc)
        await scene.pool.query('update list_queries set cpc = $2 where query_id = $1', [query, cpc])
      }
      const base = await readBase(scene.pool)
      const curve = new Map(
        (await ask('select position, ctr from ctr_curve')) as [number, number][],
      )
      const volumes = new Map(listed.map(({ query, weight }) => [query, weight]))
      const expected = base.answers.flatMap(({ query, day, search }) => {
        const volume = volumes.get(query) ?? null
        if (volume === null) return []
        return [...(base.places.get(search) ?? [])].map(([domain, place]) => {
          const clicks = volume * (curve.get(place) ?? 0)
          const cpc = prices.get(query) ?? null
          const value = cpc === null ? '' : (clicks * cpc).toFixed(6)
          return [query, day, domain, place, clicks.toFixed(6), value].join(' ')
        })
      })
      const said =
        await ask(`select query_id, run_date, domain, position, round(estimated_clicks::numeric, 6)::text,
        round(estimated_value::numeric, 6)::text from analysis.estimated_traffic`)
      expect(said.map((row) => row.join(' ')).toSorted()).toEqual(expected.toSorted())
    },
  )

  test('uses the configured curve, and the curve can be shown', async () => {
    await scene.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
    scene.story.says('shoes', { weight: 1000 }).says('boots', {})
    await scene.story.night('2026-01-01', {
      shoes: ['us.com/a/shoes', 'b.com/'],
      boots: ['us.com/boots'],
    })
    await scene.pool.query('update list_queries set cpc = 0.5 where weight is not null')
    const [page] = await answer('pages', '--show', 'ranking')
    expect(page?.slice(0, 5)).toEqual(['us.com/a/shoes', '1', '1', '1', 'shoes'])
    expect(page?.slice(6)).toEqual(['312.0', '156.00'])
    const { rows } = await scene.pool.query<{ name: string }>('select current_database() as name')
    await scene.pool.query("insert into ctr_curve values ('mine', 1, 0.5), ('mine', 2, 0.25)")
    await scene.pool.query(`alter database ${rows[0]?.name} set querymill.ctr_curve = 'mine'`)
    // Existing connections do not see the change.
    const fresh = openPool(scene.url, { name: 'test', max: 1 })
    const shown = await fresh.query({
      text: 'select curve, ctr, estimated_clicks, estimated_value from analysis.estimated_traffic order by position',
      rowMode: 'array',
    })
    await fresh.end()
    expect(shown.rows).toEqual([
      ['mine', 0.5, 500, 250],
      ['mine', 0.25, 250, 125],
    ])
    expect((await answer('answers', '--show', 'curve')).slice(0, 1)).toEqual([
      ['default', '1', '0.312'],
    ])
  })

  test('of domains adds up that of their queries, and shows how many have a price', async () => {
    scene.story.says('shoes', { weight: 1000 }).says('boots', { weight: 100 })
    await scene.story.night('2026-01-01', {
      shoes: ['a.com/', 'b.com/'],
      boots: ['b.com/', 'a.com/'],
    })
    await scene.pool.query('update list_queries set cpc = 2 where weight = 100')
    expect(await answer('domains', '--show', 'traffic')).toEqual([
      ['a.com', '328.0', '32.00', '2', '1', 'default'],
      ['b.com', '191.2', '62.40', '2', '1', 'default'],
    ])
  })
})
