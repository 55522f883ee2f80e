import { describe, expect, test } from 'vitest'
import { storyScene } from './scene.ts'
import { placed, ten } from './story.ts'

const scene = storyScene()
const { ask } = scene

const moves = (where = 'true') =>
  ask(`select domain, run_date, previous_position, position, delta, change
    from analysis.movers where ${where} order by run_date, domain`)

describe('rank history', () => {
  test('each observation has one row, and a missing domain has no position', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/', 'a.com/2'] })
    await scene.story.night('2026-01-02', { shoes: ['b.com/'] })
    await scene.story.night('2026-01-03', { shoes: 'failed' })
    await scene.story.night('2026-01-04', { shoes: ['c.com/', 'b.com/', 'a.com/3'] })
    expect(
      await ask(`select run_date, position, url_key, depth from analysis.rank_history
        where domain = 'a.com' order by run_date`),
    ).toEqual([
      ['2026-01-01', 1, 'a.com', 3],
      ['2026-01-02', null, null, 1],
      ['2026-01-04', 3, 'a.com/3', 3],
    ])
  })

  test('a domain added today has its whole history, with and without positions', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: ['b.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['b.com/', 'a.com/'], boots: ['b.com/'] })
    await scene.pool.query("insert into own_domains (domain, label) values ('a.com', 'Ours')")
    expect(
      await ask(`select q, run_date, position from analysis.rank_history
        where domain = 'a.com' order by q, run_date`),
    ).toEqual([
      ['boots', '2026-01-01', null],
      ['boots', '2026-01-02', null],
      ['shoes', '2026-01-01', 1],
      ['shoes', '2026-01-02', 2],
    ])
  })
})

describe('movers', () => {
  test('every kind of move has its name, and the first answer has no moves', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/', 'c.com/', 'd.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['a.com/', 'c.com/', 'e.com/', 'b.com/'] })
    expect(await moves()).toEqual([
      ['a.com', '2026-01-02', 1, 1, 0, 'same'],
      ['b.com', '2026-01-02', 2, 4, -2, 'down'],
      ['c.com', '2026-01-02', 3, 2, 1, 'up'],
      ['d.com', '2026-01-02', 4, null, null, 'left'],
      ['e.com', '2026-01-02', null, 3, null, 'entered'],
    ])
  })

  test('entered and left are omitted if the shallower answer cannot show them', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/', 'c.com/', 'd.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['c.com/', 'a.com/'] })
    await scene.story.night('2026-01-03', { shoes: ['a.com/', 'd.com/', 'b.com/', 'c.com/'] })
    expect(await moves("domain in ('b.com', 'd.com')")).toEqual([
      // Position 2 is within the two results of the second day, position 4 is not.
      ['b.com', '2026-01-02', 2, null, null, 'left'],
      ['d.com', '2026-01-03', null, 2, null, 'entered'],
    ])
  })

  test('a domain with several pages counts once, at its best position, with the page there', async () => {
    await scene.story.night('2026-01-01', { shoes: ['x.com/', 'a.com/1', 'a.com/2'] })
    await scene.story.night('2026-01-02', { shoes: ['a.com/2', 'x.com/', 'a.com/1'] })
    expect(
      await ask(`select previous_position, position, delta, previous_url_key, url_key, several_pages
        from analysis.movers where domain = 'a.com'`),
    ).toEqual([[2, 1, 1, 'a.com/1', 'a.com/2', true]])
  })

  test('another spelling of an address is not a second page, and another page is one at any position', async () => {
    await scene.story.night('2026-01-01', { one: ['http://a.com/1'], two: ['http://a.com/1'] })
    await scene.story.night('2026-01-02', {
      one: ['https://a.com/1/'],
      two: ['a.com/1', 'a.com/2'],
    })
    expect(await ask('select q, several_pages from analysis.movers order by q')).toEqual([
      ['one', false],
      ['two', true],
    ])
  })

  test('an answer without results removes no domain, because it shows no position at all', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
    await scene.story.night('2026-01-02', { shoes: [] })
    expect(await moves()).toEqual([])
  })

  test('a manual run counts like a night, and a reused answer causes no moves', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/'] })
    await scene.story.night('2026-01-02', { shoes: 'reused' })
    await scene.story.night('2026-01-03', { shoes: ['b.com/', 'a.com/'] }, { kind: 'manual' })
    expect(await moves("domain = 'a.com'")).toEqual([['a.com', '2026-01-03', 1, 2, -1, 'down']])
  })
})

describe('confirmed losses', () => {
  const without = placed(ten('r'), 4, 'other.com/')
  const withUs = placed(ten('r'), 4, 'us.com/')
  const losses = () =>
    ask(`select run_date, base_run_date, base_position, position, url_key
      from analysis.confirmed_losses where domain = 'us.com'`)

  test('two answers without the domain confirm a loss, at the second one, once', async () => {
    await scene.story.night('2026-01-01', { shoes: withUs })
    await scene.story.night('2026-01-02', { shoes: without })
    expect(await losses()).toEqual([])
    await scene.story.night('2026-01-03', { shoes: without })
    await scene.story.night('2026-01-04', { shoes: without })
    expect(await losses()).toEqual([['2026-01-03', '2026-01-01', 4, null, 'us.com']])
  })

  test('a domain that returns in the next answer has lost nothing', async () => {
    await scene.story.night('2026-01-01', { shoes: withUs })
    await scene.story.night('2026-01-02', { shoes: without })
    await scene.story.night('2026-01-03', { shoes: withUs })
    await scene.story.night('2026-01-04', { shoes: without })
    expect(await losses()).toEqual([])
  })

  test('a fall by more than five positions is a loss, one by five is none', async () => {
    const at = (place: number) => [
      ...ten('r'),
      ...Array.from({ length: 6 }, (_, index) =>
        index + 11 === place ? 'us.com/' : `s${index}.com/`,
      ),
    ]
    await scene.story.night('2026-01-01', {
      shoes: placed(ten('r'), 7, 'us.com/'),
      boots: placed(ten('r'), 7, 'us.com/'),
    })
    for (const date of ['2026-01-02', '2026-01-03']) {
      await scene.story.night(date, { shoes: at(12), boots: at(13) })
    }
    expect(
      await ask('select q, position from analysis.confirmed_losses where domain = $$us.com$$'),
    ).toEqual([['boots', 13]])
  })

  test('an answer too shallow to show the position confirms nothing', async () => {
    await scene.story.night('2026-01-01', { shoes: withUs })
    await scene.story.night('2026-01-02', { shoes: without })
    await scene.story.night('2026-01-03', { shoes: without.slice(0, 3) })
    await scene.story.night('2026-01-04', { shoes: without })
    expect(await losses()).toEqual([])
    await scene.story.night('2026-01-05', { shoes: without })
    expect(await losses()).toEqual([['2026-01-05', '2026-01-01', 4, null, 'us.com']])
  })

  test('an answer that is used twice does not confirm itself', async () => {
    await scene.story.night('2026-01-01', { shoes: withUs })
    await scene.story.night('2026-01-02', { shoes: without })
    await scene.story.night('2026-01-03', { shoes: 'reused' })
    expect(await losses()).toEqual([])
  })
})
