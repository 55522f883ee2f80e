// @module-tag slow
import { describe, expect, test } from 'vitest'
import { canonicalText } from '../../../src/base/query.ts'
import { readAddress } from '../../../src/core/search/parse.ts'
import { storyScene } from './scene.ts'
import { ten } from './story.ts'

const scene = storyScene()

async function ask(text: string, values: unknown[] = []): Promise<unknown[]> {
  return (await scene.pool.query({ text, values, rowMode: 'array' })).rows
}

/** Ten addresses, of which the first ones are shared. */
const sharing = (shared: number, letter: string): string[] => [
  ...ten('s').slice(0, shared),
  ...ten(letter).slice(shared),
]

/** Pairs in either order. */
const pairs = (rows: unknown[]) =>
  (rows as [string, string, number, number][]).map(([q, other, shared, jaccard]) => [
    ...(q < other ? [q, other] : [other, q]),
    shared,
    jaccard,
  ])

describe('overlap of answers', () => {
  test('pairs are shown with their shared pages and the share of these in all', async () => {
    await scene.story.night('2026-01-01', { a: sharing(5, 'a'), b: sharing(3, 'b'), c: ten('c') })
    expect(
      pairs(await ask('select q, other_q, shared, jaccard from analysis.serp_overlap')),
    ).toEqual([['a', 'b', 3, 3 / 17]])
  })

  test('answers for two devices or countries are not compared, and neither are two days', async () => {
    scene.story
      .says('a', { device: 'mobile' })
      .says('b', { device: 'desktop' })
      .says('c', { gl: 'de' })
    await scene.story.night('2026-01-01', { a: ten('s'), b: ten('s'), c: ten('s'), e: ten('s') })
    await scene.story.night('2026-01-02', { d: ten('s') })
    expect(await ask("select * from analysis.serp_overlap_on('2026-01-01')")).toEqual([])
    expect(await ask("select * from analysis.serp_overlap_on('2026-01-02')")).toEqual([])
  })

  test('another spelling of a page is the same page', async () => {
    await scene.story.night('2026-01-01', { a: ['x.com/1'], b: ['http://x.com/1/?gclid=9#top'] })
    expect(
      pairs(await ask('select q, other_q, shared, jaccard from analysis.serp_overlap')),
    ).toEqual([['a', 'b', 1, 1]])
  })

  test('a page in more than 200 answers makes no pair on its own, but counts in one', async () => {
    const answers: Record<string, string[]> = {}
    for (let n = 0; n < 201; n++) answers[`q${n}`] = ['hot.com/', `own${n}.com/`]
    answers['x'] = ['hot.com/', 'rare.com/']
    answers['y'] = ['rare.com/', 'hot.com/']
    await scene.story.night('2026-01-01', answers)
    expect(
      pairs(await ask('select q, other_q, shared, jaccard from analysis.serp_overlap')),
    ).toEqual([['x', 'y', 2, 1]])
  })
})

describe('groups of queries', () => {
  test('pairs with four common pages chain into one group, three are too few', async () => {
    scene.story.says('b', { weight: 5 }).says('a', { weight: 2 }).says('c', { weight: 3 })
    await scene.story.night('2026-01-01', {
      a: [...ten('s').slice(0, 4), ...ten('a').slice(0, 6)],
      b: [...ten('s').slice(0, 4), ...ten('t').slice(0, 4), 'b1.com/', 'b2.com/'],
      c: [...ten('t').slice(0, 4), ...ten('c').slice(0, 6)],
      d: [...ten('t').slice(0, 3), ...ten('d').slice(0, 7)],
    })
    expect(
      await ask('select group_name, q, weight, size from analysis.keyword_groups order by q'),
    ).toEqual([
      ['b', 'a', 2, 3],
      ['b', 'b', 5, 3],
      ['b', 'c', 3, 3],
    ])
    expect(
      await ask("select q from analysis.keyword_groups_on('2026-01-01', 3) order by q"),
    ).toEqual([['a'], ['b'], ['c'], ['d']])
  })

  test('groups and twins with one text on two devices are distinguished', async () => {
    const answers: Record<string, string[]> = {}
    for (const [q, device] of [
      ['a @m', 'mobile'],
      ['b @m', 'mobile'],
      ['a @d', 'desktop'],
      ['b @d', 'desktop'],
    ] as const) {
      scene.story.says(q, { device, weight: q.startsWith('a') ? 2 : 1 })
      answers[q] = ten('s')
    }
    await scene.story.night('2026-01-01', answers)
    const groups = ['@d', '@m'].map((device) =>
      [`a ${device}`, `b ${device}`].map((q) => scene.story.idOf(q)).toSorted(),
    )
    expect(
      await ask(`select group_name, group_id, array_agg(query_id order by query_id)
        from analysis.keyword_groups group by group_name, group_id order by group_id`),
    ).toEqual(
      groups
        .toSorted(([one = ''], [other = '']) => (one < other ? -1 : 1))
        .map((group) => ['a', group[0], group]),
    )
    expect(
      await ask('select heavier_twin, twin_query_id, query_id from analysis.heavier_twins'),
    ).toEqual(
      expect.arrayContaining(
        ['@d', '@m'].flatMap((device) => [
          ['a', scene.story.idOf(`a ${device}`), scene.story.idOf(`a ${device}`)],
          ['a', scene.story.idOf(`a ${device}`), scene.story.idOf(`b ${device}`)],
        ]),
      ),
    )
  })

  test('a twin is the query of highest weight in reach, and twins do not chain', async () => {
    scene.story.says('a', { weight: 1 }).says('b', { weight: 2 }).says('c', { weight: 3 })
    await scene.story.night('2026-01-01', {
      a: [...ten('s').slice(0, 4), ...ten('a').slice(0, 6)],
      b: [...ten('s').slice(0, 4), ...ten('t').slice(0, 4), 'b1.com/', 'b2.com/'],
      c: [...ten('t').slice(0, 4), ...ten('c').slice(0, 6)],
    })
    expect(
      await ask('select q, heavier_twin, shared from analysis.heavier_twins order by q'),
    ).toEqual([
      ['a', 'b', 4],
      ['b', 'c', 4],
      ['c', 'c', null],
    ])
  })

  test('components name each node by the lowest node that it is connected to', async () => {
    expect(
      await ask('select node, component from analysis.components($1, $2) order by node', [
        [2, 3, 4],
        [1, 2, 4],
      ]),
    ).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 4],
    ])
    expect(await ask("select * from analysis.components('{}', '{}')")).toEqual([])
  })

  test('two devices differ by the pages that only one of them shows', async () => {
    scene.story.says('shoes @m', { device: 'mobile' }).says('shoes @d', { device: 'desktop' })
    await scene.story.night('2026-01-01', {
      'shoes @m': ['a.com/', 'b.com/', 'c.com/'],
      'shoes @d': ['a.com/', 'b.com/', 'd.com/'],
      boots: ['a.com/'],
    })
    expect(await ask('select q, shared, divergence from analysis.serp_divergence')).toEqual([
      ['shoes', 2, 0.5],
    ])
  })

  test('a language and a country with one code are distinguished, and more results are not another parameter', async () => {
    scene.story.says('shoes @hl', { hl: 'de' }).says('shoes @gl', { gl: 'de' })
    scene.story.says('boots @ten', { hl: 'de' }).says('boots @more', { hl: 'de', num: 20 })
    await scene.story.night('2026-01-01', {
      'shoes @hl': ['a.com/'],
      'shoes @gl': ['b.com/'],
      'boots @ten': ['a.com/'],
      'boots @more': ['b.com/'],
    })
    expect(
      await ask(`select q, least(variant, other_variant), greatest(variant, other_variant)
        from analysis.serp_divergence`),
    ).toEqual([['shoes', 'gl de', 'hl de']])
    expect(
      await ask(`select analysis.variant(device, location, hl, gl, num) from queries
        where q = 'boots' order by 1`),
    ).toEqual([['hl de'], ['hl de, num 20']])
  })
})

describe('entities', () => {
  test('an entity counts once per day for each query that names it', async () => {
    scene.story.says('shoes', { weight: 4 })
    await scene.story.night('2026-01-01', {
      shoes: { entities: ['Foot', 'Foot', 'Leather'] },
      boots: { entities: ['Foot'] },
    })
    expect(
      await ask('select name, type, queries, weight from analysis.entity_frequency order by name'),
    ).toEqual([
      ['Foot', 'thing', 2, 5],
      ['Leather', 'thing', 1, 4],
    ])
  })

  test('new and missing entities are found by comparison with the previous answer', async () => {
    await scene.story.night('2026-01-01', { shoes: { entities: ['Foot', 'Old'] } })
    await scene.story.night('2026-01-02', { shoes: { unreadable: true } })
    await scene.story.night('2026-01-03', { shoes: { entities: ['New', 'Foot'] } })
    expect(
      await ask('select run_date, name, change from analysis.entity_changes order by name'),
    ).toEqual([
      ['2026-01-03', 'New', 'new'],
      ['2026-01-03', 'Old', 'gone'],
    ])
  })

  test('pairs seen three times have the mutual information of the formula', async () => {
    const both = { entities: ['A', 'B'] }
    await scene.story.night('2026-01-01', {
      q1: both,
      q2: both,
      q3: both,
      q4: { entities: ['A', 'C'] },
      q5: { entities: ['A', 'C'] },
      q6: { entities: [] },
    })
    const rows =
      (await ask(`select least(name, other_name), greatest(name, other_name), together, answers, npmi
      from analysis.entity_pairs`)) as [string, string, number, number, number][]
    expect(rows).toHaveLength(1)
    expect(rows[0]?.slice(0, 4)).toEqual(['A', 'B', 3, 6])
    // A in 5 of 6, B in 3, both in 3.
    expect(rows[0]?.[4]).toBeCloseTo(Math.log((3 * 6) / (5 * 3)) / -Math.log(3 / 6), 12)
  })

  test('entities that every answer names together have the maximum', async () => {
    const both = { entities: ['A', 'B'] }
    await scene.story.night('2026-01-01', { q1: both, q2: both, q3: both })
    expect(await ask('select npmi from analysis.entity_pairs')).toEqual([[1]])
  })
})

describe('related searches', () => {
  test('an edge shows when it was seen, and whether its end is one of our queries', async () => {
    await scene.story.night('2026-01-01', { shoes: { related: ['boots', 'sandals'] }, boots: {} })
    await scene.story.night('2026-01-02', { shoes: { related: ['new shoes', 'boots'] } })
    expect(
      await ask(`select related, related_queries, ordinal, first_seen, last_seen, observations
        from analysis.related_edges where q = 'shoes' order by related`),
    ).toEqual([
      ['boots', 1, 2, '2026-01-01', '2026-01-02', 2],
      ['new shoes', null, 1, '2026-01-02', '2026-01-02', 1],
      ['sandals', null, 2, '2026-01-01', '2026-01-01', 1],
    ])
  })

  test('a node has its degrees, its mutual edges and its component', async () => {
    await scene.story.night('2026-01-01', {
      shoes: { related: ['boots', 'socks', 'shoes'] },
      boots: { related: ['shoes', 'socks'] },
      cars: { related: ['trucks'] },
    })
    expect(
      await ask(`select q, in_degree, out_degree, reciprocal, component, component_size
        from analysis.related_nodes order by q`),
    ).toEqual([
      ['boots', 1, 2, 1, 'boots', 3],
      ['cars', 0, 1, 0, 'cars', 2],
      ['shoes', 1, 2, 1, 'boots', 3],
      ['socks', 2, 0, 0, 'boots', 3],
      ['trucks', 1, 0, 0, 'cars', 2],
    ])
  })

  test('the frontier contains what the newest answers name and no query asks, in one spelling', async () => {
    scene.story.says('shoes', { weight: 4 })
    await scene.story.night('2026-01-01', {
      shoes: { related: ['gone'] },
      boots: { related: ['shoes'] },
    })
    await scene.story.night('2026-01-02', {
      shoes: { related: ['red  shoes', 'boots', '\u200bnew\u00a0shoes '] },
      boots: { related: ['red shoes', 'red shoes'] },
    })
    expect(
      await ask('select q, sources, weight from analysis.untracked_related order by q'),
    ).toEqual([
      ['new shoes', 1, 4],
      ['red shoes', 2, 5],
    ])
  })

  test('a text that one answer names in two spellings counts once for its query', async () => {
    scene.story.says('shoes', { weight: 4 })
    await scene.story.night('2026-01-01', { shoes: { related: ['red shoes', 'red  shoes'] } })
    expect(await ask('select q, sources, weight from analysis.untracked_related')).toEqual([
      ['red shoes', 1, 4],
    ])
  })
})

describe('rules that SQL and the program share', () => {
  test('a text is normalized like a query, for every format character and blank', async () => {
    const odd = ['e\u0301', 'नमस्\u200dते', ' a  b\tc\n', '\u1e9b\u0323', 'a\u00ad\u0300b', '']
    for (let code = 1; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const character = String.fromCodePoint(code)
      if (/\p{Cf}|\s/u.test(character)) odd.push(`a${character}b${character}`)
    }
    const rows = await ask(
      'select analysis.canonical(text) from unnest($1::text[]) with ordinality as given (text, nth) order by nth',
      [odd],
    )
    expect(rows).toEqual(odd.map((text) => [canonicalText(text)]))
  })

  test('a target page is normalized like a page of an answer', async () => {
    const urls = [
      'https://Example.com',
      'http://example.com/',
      'https://example.com/a/b/',
      'https://example.com:8443/a?x=1',
      'http://example.com:80/a',
      'https://example.com:443/a#b',
      'https://www.example.com/A?utm_source=x&b=2&gclid=3',
      'https://example.com/?fbclid=1',
      'https://example.com/a?b=1&&c=2#d?e',
    ]
    const rows = await ask(
      'select analysis.url_key(url) from unnest($1::text[]) with ordinality as given (url, nth) order by nth',
      [urls],
    )
    expect(rows).toEqual(urls.map((url) => [readAddress(url).key]))
  })
})
