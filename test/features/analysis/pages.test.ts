// @module-tag slow
import { describe, expect, test } from 'vitest'
import { checkTarget } from '../../../src/core/lists/values.ts'
import { storyScene } from './scene.ts'
import { placed, ten } from './story.ts'

const scene = storyScene()
const { ask } = scene

describe('cannibalisation', () => {
  test('two pages of a domain in one answer are shown, one page in two spellings is not', async () => {
    await scene.story.night('2026-01-01', {
      shoes: ['us.com/1', 'b.com/', 'us.com/2', 'c.com/', 'http://us.com/1/?utm_source=x'],
      boots: ['us.com/1', 'http://us.com/1/#top'],
    })
    expect(
      await ask(
        'select q, domain, pages, positions::integer[], url_keys from analysis.cannibalised_serps',
      ),
    ).toEqual([['shoes', 'us.com', 2, [1, 3, 5], ['us.com/1', 'us.com/2', 'us.com/1']]])
  })

  test('a result without an address is not a page', async () => {
    const night = await scene.story.night('2026-01-01', {
      shoes: ['us.com/1', 'us.com/none', 'us.com/2'],
    })
    await scene.pool.query(
      'update organic_results set page_id = null where search_id = $1 and ordinal = 2',
      [night.get('shoes')],
    )
    expect(
      await ask('select pages, positions::integer[], url_keys from analysis.cannibalised_serps'),
    ).toEqual([[2, [1, 3], ['us.com/1', 'us.com/2']]])
  })

  test('a best page that changes back and forth is shown from the second switch on', async () => {
    const one = ['us.com/1', 'us.com/2', 'b.com/']
    const two = ['us.com/2', 'us.com/1', 'b.com/']
    await scene.story.night('2026-01-01', { shoes: one })
    await scene.story.night('2026-01-02', { shoes: two })
    const switches = 'select q, domain, switches, pages, url_keys from analysis.page_switches'
    expect(await ask(switches)).toEqual([])
    await scene.story.night('2026-01-03', { shoes: two })
    await scene.story.night('2026-01-04', { shoes: one })
    expect(await ask(switches)).toEqual([['shoes', 'us.com', 2, 2, ['us.com/2', 'us.com/1']]])
  })

  test('switches before the period do not count', async () => {
    await scene.story.night('2026-01-01', { shoes: ['us.com/1'] })
    await scene.story.night('2026-01-02', { shoes: ['us.com/2'] })
    await scene.story.night('2026-01-03', { shoes: ['us.com/1'] })
    expect(await ask('select switches from analysis.page_switches')).toEqual([[2]])
    await scene.story.night('2026-02-05', { shoes: ['us.com/1'] })
    expect(await ask('select switches from analysis.page_switches')).toEqual([])
  })

  test('a page other than the target page is shown with the position of the target', async () => {
    scene.story.says('shoes', { target: 'https://www.us.com/right/?utm_source=list#a' })
    scene.story.says('boots', { target: 'us.com/right' })
    await scene.story.night('2026-01-01', {
      shoes: ['us.com/wrong', 'b.com/', 'www.us.com/right'],
      boots: ['us.com/right', 'us.com/wrong'],
    })
    expect(
      await ask('select q, position, url_key, target_position from analysis.wrong_pages'),
    ).toEqual([['shoes', 1, 'us.com/wrong', 3]])
  })

  test.each([
    'https://us.com/größe',
    'https://bücher.de/gut',
    'bücher.de/gut',
    'us.com/two words',
    'https://us.com/a/../b',
    'https://us.com?lang=de',
    'us.com:8443/a',
  ])('the target page written as %s is recognised in an answer', async (given) => {
    const target = checkTarget(given)
    const shown = given.includes('://') ? given : `https://${given}`
    const wrong = new URL('/wrong', shown).href
    scene.story.says('right', { target: (target.ok && target.value) || '' })
    scene.story.says('below', { target: (target.ok && target.value) || '' })
    await scene.story.night('2026-01-01', { right: [shown, wrong], below: [wrong, shown] })
    expect(await ask('select q, target_position from analysis.wrong_pages')).toEqual([['below', 2]])
  })
})

describe('volatility', () => {
  const values =
    'select run_date, volatility, compared_depth from analysis.volatility order by run_date'

  test('the same answer again is 0, a complete exchange is 1', async () => {
    await scene.story.night('2026-01-01', { shoes: ten('a') })
    await scene.story.night('2026-01-02', { shoes: ten('a') })
    await scene.story.night('2026-01-03', { shoes: ten('b') })
    expect(await ask(values)).toEqual([
      ['2026-01-02', 0, 10],
      ['2026-01-03', 1, 10],
    ])
  })

  test('two neighbours that swap positions move two positions of twelve', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/', 'c.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['b.com/', 'a.com/', 'c.com/'] })
    expect(await ask(values)).toEqual([['2026-01-02', 2 / 12, 3]])
  })

  test('one page replaced at the last position moves one position out and one in', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/', 'c.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['a.com/', 'b.com/', 'd.com/'] })
    expect(await ask(values)).toEqual([['2026-01-02', 2 / 12, 3]])
  })

  test('a complete exchange is 1 even if pages share a position or a position is empty', async () => {
    const first = await scene.story.night('2026-01-01', {
      tied: ['a.com/', 'b.com/', 'c.com/'],
      holes: ['a.com/', null, 'b.com/'],
    })
    const second = await scene.story.night('2026-01-02', {
      tied: ['x.com/', 'y.com/', 'z.com/'],
      holes: ['x.com/', null, 'y.com/'],
    })
    await scene.pool.query(
      'update organic_results set position = 1 where ordinal = 2 and search_id = any ($1)',
      [[first.get('tied'), second.get('tied')]],
    )
    expect(await ask('select q, volatility from analysis.volatility order by q')).toEqual([
      ['holes', 1],
      ['tied', 1],
    ])
  })

  test('nothing is compared below the last position of the shallower answer', async () => {
    await scene.story.night('2026-01-01', { shoes: ten('a') })
    await scene.story.night('2026-01-02', { shoes: ten('a').slice(0, 4) })
    expect(await ask(values)).toEqual([['2026-01-02', 0, 4]])
  })

  test('a night is compared with the thirty before it, without itself', async () => {
    const calm = ['a.com/', 'b.com/', 'c.com/']
    const moved = ['b.com/', 'a.com/', 'c.com/']
    await scene.story.night('2026-01-01', { shoes: calm })
    await scene.story.night('2026-01-02', { shoes: calm })
    await scene.story.night('2026-01-03', { shoes: moved })
    await scene.story.night('2026-01-04', { shoes: ['x.com/', 'y.com/', 'z.com/'] })
    const rows = (await ask(
      'select run_date, volatility, usual, z, nights from analysis.volatility_nights order by 1',
    )) as (string | number | null)[][]
    expect(rows.slice(0, 2)).toEqual([
      ['2026-01-02', 0, null, null, 0],
      ['2026-01-03', 1 / 6, 0, null, 1],
    ])
    expect(rows[2]?.slice(3)).toEqual([null, 2])
    expect(rows[2]?.[2]).toBeCloseTo(1 / 12, 12)
  })

  test('a night has a distance from the usual only after fourteen nights', async () => {
    const [calm, moved] = [
      ['a.com/', 'b.com/', 'c.com/'],
      ['b.com/', 'a.com/', 'c.com/'],
    ]
    for (let day = 10; day <= 24; day++) {
      const still = day % 2 === 0 || day % 4 === 1
      await scene.story.night(`2026-01-${day}`, { shoes: still ? calm : moved })
    }
    await scene.story.night('2026-01-25', { shoes: ['x.com/', 'y.com/', 'z.com/'] })
    const rows = (await ask(
      'select volatility, z, nights from analysis.volatility_nights order by run_date',
    )) as number[][]
    const before = rows.slice(0, 14).map(([volatility = 0]) => volatility)
    const mean = before.reduce((sum, value) => sum + value, 0) / 14
    const spread = Math.sqrt(before.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 13)
    expect(rows.slice(0, 14).map(([, z]) => z)).toEqual(Array.from({ length: 14 }, () => null))
    expect(rows[14]?.[1]).toBeCloseTo((1 - mean) / spread, 9)
  })
})

describe('churn and tenure', () => {
  test('pages that entered and left the top 10 are counted night by night', async () => {
    await scene.story.night('2026-01-01', { shoes: ten('a'), boots: ten('c') })
    await scene.story.night('2026-01-02', {
      shoes: placed(placed(ten('a'), 3, 'x.com/'), 9, 'y.com/'),
      boots: ten('c').toReversed(),
    })
    expect(
      await ask('select run_date, queries, entered, left_top_10, stayed from analysis.churn'),
    ).toEqual([['2026-01-02', 2, 2, 2, 18]])
  })

  test('a stay ends at a break and starts again, and the last one lasts', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'us.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['us.com/', 'a.com/'] })
    await scene.story.night('2026-01-03', { shoes: ['a.com/'] })
    await scene.story.night('2026-01-05', { shoes: ['a.com/', 'b.com/', 'us.com/'] })
    expect(
      await ask(`select since, until, answers, best_position, worst_position, lasts
        from analysis.top_ten_stays where url_key = 'us.com' order by since`),
    ).toEqual([
      ['2026-01-01', '2026-01-02', 2, 1, 2, false],
      ['2026-01-05', '2026-01-05', 1, 3, 3, true],
    ])
  })

  test('a new title under the same address is shown with the old one', async () => {
    await scene.story.night('2026-01-01', {
      shoes: { results: ['a.com/', 'b.com/'], titles: ['Old', 'Same'] },
    })
    await scene.story.night('2026-01-02', {
      shoes: { results: ['b.com/', 'a.com/'], titles: ['Same', 'New'] },
    })
    expect(
      await ask('select url_key, position, previous_title, title from analysis.title_changes'),
    ).toEqual([['a.com', 2, 'Old', 'New']])
  })
})

describe('titles', () => {
  test('of an address that an answer shows twice, the first one counts', async () => {
    const results = ['a.com/', 'b.com/', 'a.com/']
    await scene.story.night('2026-01-01', { shoes: { results, titles: ['One', 'B', 'Two'] } })
    await scene.story.night('2026-01-02', { shoes: { results, titles: ['One', 'B', 'Two'] } })
    await scene.story.night('2026-01-03', { shoes: { results, titles: ['New', 'B', 'Other'] } })
    expect(
      await ask('select run_date, position, previous_title, title from analysis.title_changes'),
    ).toEqual([['2026-01-03', 1, 'One', 'New']])
  })
})

describe('rivals', () => {
  test('domains in the same answers as ours are shown with how much more often than by chance', async () => {
    await scene.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
    await scene.story.night('2026-01-01', {
      q1: ['us.com/', 'rival.com/', 'every.com/'],
      q2: ['us.com/', 'rival.com/', 'every.com/'],
      q3: ['every.com/', 'other.com/'],
      q4: ['every.com/'],
      q5: ['every.com/'],
    })
    expect(
      await ask(
        'select own_domain, domain, shared, own_queries, queries, lift, everywhere from analysis.competitors order by 2',
      ),
    ).toEqual([
      ['us.com', 'every.com', 2, 2, 5, (2 * 5) / (2 * 5), true],
      ['us.com', 'rival.com', 2, 2, 2, (2 * 5) / (2 * 2), false],
    ])
  })

  test('a gap is a rival in the top 10 of an answer at least ten deep that shows none of our domains', async () => {
    await scene.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
    const deep = [...ten('r'), ...ten('s')]
    await scene.story.night('2026-01-01', {
      gap: deep,
      held: placed(deep, 15, 'us.com/'),
      shallow: ten('r'),
      few: ten('r').slice(0, 9),
    })
    expect(
      await ask(
        'select q, count(*), min(position), max(position), min(depth) from analysis.content_gaps group by q order by q',
      ),
    ).toEqual([
      ['gap', 10, 1, 10, 20],
      ['shallow', 10, 1, 10, 10],
    ])
  })

  test('a position below the twentieth is a gap, and none of our domains is a rival', async () => {
    await scene.pool.query(
      "insert into own_domains (domain, label) values ('us.com', 'Us'), ('r2.com', 'Us too')",
    )
    const results = [...ten('r'), ...Array.from({ length: 46 }, () => null), 'us.com/']
    await scene.story.night('2026-01-01', { deep: results, thin: ['r2.com/', 'us.com/'], none: [] })
    const gaps = (await ask(
      "select domain from analysis.content_gaps where own_domain = 'us.com'",
    )) as string[][]
    expect(gaps.flat().toSorted()).toEqual(
      ['r1', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9', 'r10']
        .map((name) => `${name}.com`)
        .toSorted(),
    )
    await scene.story.night(
      '2026-01-02',
      { a: ten('z'), b: ten('y'), c: ten('x') },
      { list: 'more' },
    )
    const rivals = (await ask('select distinct domain from analysis.competitors')) as string[][]
    expect(rivals.flat()).toContain('r1.com')
    expect(rivals.flat()).not.toContain('r2.com')
    expect(rivals.flat()).not.toContain('us.com')
  })

  test('a query that has left its list is no gap, no striking distance and no missing answer', async () => {
    await scene.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
    await scene.story.night('2026-01-01', { gone: [...ten('r'), 'us.com/'], stays: ten('s') })
    await scene.story.night('2026-01-02', { stays: ten('s') })
    expect(await ask('select distinct q from analysis.content_gaps')).toEqual([['stays']])
    expect(await ask('select distinct q from analysis.striking_distance')).toEqual([['stays']])
    expect(await ask('select distinct domain from analysis.competitors')).toEqual([])
    expect(await ask('select queries from analysis.freshness')).toEqual([[1]])
  })
})
