// Related searches of answers, as ranked for an expansion.
import { describe, expect, test } from 'vitest'
import {
  type FrontierSources,
  rankFrontier,
  readFrontier,
} from '../../../src/features/expand/statements.ts'
import { storyScene } from '../analysis/scene.ts'

const scene = storyScene()

async function ranked(more: Partial<FrontierSources> = {}) {
  const { rows } = await scene.pool.query<{ id: number }>(
    "select id from lists where name = 'main'",
  )
  return scene.db.transaction().execute(async (trx) => {
    const sources = {
      list: rows[0]?.id ?? 0,
      into: 0,
      from: 0,
      until: 0,
      origin: 'live',
      api: 'api.example.com',
    }
    const frontier = await rankFrontier(trx, { ...sources, ...more })
    const found: string[] = []
    for await (const page of readFrontier(trx)) {
      for (const { q, device, sources: named, weight, from_q: from, round } of page) {
        found.push([q, device, named, weight, from, round].join(' | '))
      }
    }
    return { ...frontier, found }
  })
}

describe('related searches', () => {
  test('are ordered by the weights of the queries that name them, then by their number', async () => {
    scene.story
      .says('heavy', { weight: 4 })
      .says('light', { weight: 2 })
      .says('small', { weight: 2 })
    await scene.story.night('2026-01-01', {
      heavy: { related: ['by one heavy', 'by all'] },
      light: { related: ['by two light', 'by all', 'by one light'] },
      small: { related: ['by two light', 'by  all '] },
    })
    expect((await ranked()).found).toEqual([
      'by all |  | 3 | 8 | heavy | 1',
      `by two light |  | 2 | 4 | ${firstOf('light', 'small')} | 1`,
      'by one heavy |  | 1 | 4 | heavy | 1',
      'by one light |  | 1 | 2 | light | 1',
    ])
  })

  test('count once for a query that names them in several spellings', async () => {
    await scene.story.night('2026-01-01', { seed: { related: ['a  b', 'a b', 'a\u200b b', ' '] } })
    expect(await ranked()).toEqual({
      answered: 1,
      candidates: 1,
      found: ['a b |  | 1 | 1 | seed | 1'],
    })
  })

  test('are selected for the device of their source, unless they are already bought there', async () => {
    scene.story.says('shoes @m', { device: 'mobile' }).says('shoes @d', { device: 'desktop' })
    scene.story.says('boots @m', { device: 'mobile' })
    await scene.story.night('2026-01-01', {
      'shoes @m': { related: ['boots', 'socks'] },
      'shoes @d': { related: ['boots', 'socks'] },
      'boots @m': {},
    })
    const { found } = await ranked()
    expect(found.toSorted()).toEqual([
      'boots | desktop | 1 | 1 | shoes | 1',
      'socks | desktop | 1 | 1 | shoes | 1',
      'socks | mobile | 1 | 1 | shoes | 1',
    ])
  })

  test('are those of the newest trusted answer of the same origin and API', async () => {
    await scene.story.night('2026-01-01', { seed: { related: ['old'] } })
    await scene.story.night('2026-01-02', { seed: { related: ['new'] } })
    await scene.story.night('2026-01-03', { seed: { unreadable: true } })
    await scene.story.night('2026-01-04', { seed: { related: ['trial'] } }, { origin: 'sandbox' })
    expect((await ranked()).found).toEqual(['new |  | 1 | 1 | seed | 1'])
    expect((await ranked({ origin: 'sandbox' })).found).toEqual(['trial |  | 1 | 1 | seed | 1'])
    expect(await ranked({ api: 'other.example.com' })).toEqual({
      answered: 0,
      candidates: 0,
      found: [],
    })
    await scene.pool.query("update runs set suspect = true where run_date = '2026-01-02'")
    expect((await ranked()).found).toEqual(['old |  | 1 | 1 | seed | 1'])
  })

  test('are not taken from queries that have left the list', async () => {
    await scene.story.night('2026-01-01', { gone: { related: ['far'] } })
    await scene.story.night('2026-01-02', { seed: { related: ['near'] } })
    expect(await ranked()).toMatchObject({ answered: 1, found: ['near |  | 1 | 1 | seed | 1'] })
  })
})

/** Of two texts with equal weight, the one whose query has the smaller id. */
function firstOf(one: string, other: string): string {
  return scene.story.idOf(one) < scene.story.idOf(other) ? one : other
}
