import { describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await pool.query("insert into rival_domains (domain, label) values ('them.com', 'Them')")
  story.says('boots', { weight: 100, tags: ['shoes', 'winter'], device: 'mobile' })
  story.says('socks', { weight: 500, tags: ['winter'] })
  story.says('hats', { weight: 50 })
  story.says('ties', { weight: 10 })
  await story.night('2026-01-01', {
    boots: placed(ten('r'), 5, 'us.com/boots'),
    socks: placed(ten('r'), 2, 'us.com/socks'),
    hats: ten('r'),
    ties: ten('r'),
  })
  await story.night('2026-01-02', {
    boots: placed(placed(ten('r'), 3, 'us.com/boots'), 1, 'them.com/'),
    socks: ten('r'),
    hats: placed(ten('r'), 10, 'us.com/hats'),
    ties: ten('r'),
  })
})

/** Texts of the first column, in the order of the page. */
async function keywordsOf(path: string): Promise<readonly string[]> {
  const markup = await scene.markup(path)
  return [...markup.matchAll(/data-head="Keyword">.*?<span class="given"[^>]*>([^<]*)</gs)].map(
    ([, text = '']) => text,
  )
}

const views: readonly (readonly [string, readonly string[]])[] = [
  ['', ['socks', 'boots', 'hats', 'ties']],
  ['?sort=keyword', ['boots', 'hats', 'socks', 'ties']],
  ['?sort=rank', ['boots', 'hats']],
  ['?sort=change', ['boots', 'hats']],
  ['?word=OO', ['boots']],
  ['?tag=winter', ['socks', 'boots']],
  ['?tag=winter,shoes', ['boots']],
  ['?device=mobile', ['boots']],
  ['?list=main&rank=none', ['socks', 'ties']],
  ['?rank=4-10', ['hats']],
  ['?rival=them.com', ['boots']],
  ['?change=up', ['boots']],
  ['?change=left', ['socks']],
  ['?change=entered', ['hats']],
  ['?change=any', ['socks', 'boots', 'hats']],
  ['?day=2026-01-01&rank=1-3', ['socks']],
  ['?list=other', []],
]

describe.each(['answers alone', 'stored days'])('the table of keywords, from %s', (source) => {
  test.runIf(source === 'stored days')(
    'has days that are stored once their runs have ended',
    async () => {
      await finishDays(scene.db)
      const { rows } = await scene.pool.query('select count(*) as rows from finished_keywords')
      expect(rows).toEqual([{ rows: 8 }])
    },
  )

  test.each(views)('shows the keywords of %s in the requested order', async (filters, wanted) => {
    const shown = await keywordsOf(`/keywords${filters}`)
    // Keywords without a rank follow in any order.
    expect(filters.includes('sort=') ? shown.slice(0, wanted.length) : shown).toEqual(wanted)
    const csv = (await scene.desk.get(`/keywords/rows.csv${filters}`)).text.trim().split('\n')
    expect(csv.slice(1).map((line) => line.split(',')[0])).toEqual(shown)
  })

  test('shows the rank, the change since the day before, the volume and the page', async () => {
    const csv = await scene.desk.get(
      '/keywords/rows.csv?word=boots&column=rank,previous,change,volume,page,tags,list,device',
    )
    expect(csv.text).toBe(
      'Keyword,Rank,Change,Before,Volume,Ranking page,Tags,List,Device\n' +
        'boots,3,2,5,100,us.com/boots,"shoes, winter",main,mobile\n',
    )
  })

  test('refuses an invalid column or filter with the valid ones', async () => {
    for (const wrong of ['column=colour', 'sort=colour', 'rank=7', 'day=yesterday']) {
      const { status, text } = await scene.desk.get(`/keywords?${wrong}`)
      expect(status, wrong).toBe(400)
      expect(text).toContain('expected')
    }
  })
})

describe('stored keywords', () => {
  test('are read again once other domains are ours', async () => {
    await scene.pool.query("insert into own_domains (domain, label) values ('r1.com', 'Other')")
    const rank = async () =>
      (await scene.desk.get('/keywords/rows.csv?word=ties&column=rank')).text.split('\n')[1]
    const live = await rank()
    await finishDays(scene.db)
    expect(await rank()).toBe(live)
    const { rows } = await scene.pool.query(
      "select count(*) as ranked from finished_keywords where domain = 'r1.com'",
    )
    expect(rows[0].ranked).toBeGreaterThan(0)
    await scene.pool.query("delete from own_domains where domain = 'r1.com'")
  })

  test('are deleted with their day when its data changes', async () => {
    await finishDays(scene.db)
    await scene.story.night(
      '2026-01-02',
      { boots: placed(ten('r'), 1, 'us.com/boots') },
      { list: 'second' },
    )
    expect(await keywordsOf('/keywords?day=2026-01-02&rank=1-3')).toContain('boots')
    const { rows } = await scene.pool.query(
      `select run_date from finished_days join finished_keyword_days on finish_id = finished_days.id`,
    )
    expect(rows).toEqual([{ run_date: '2026-01-01' }])
  })
})
