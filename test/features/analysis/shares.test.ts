import { describe, expect, test } from 'vitest'
import { storyScene } from './scene.ts'
import { placed, ten } from './story.ts'

const scene = storyScene()
const { ask } = scene

async function curve(...shares: (readonly [number, number])[]): Promise<void> {
  await scene.pool.query("delete from ctr_curve where curve = 'default'")
  for (const [position, ctr] of shares) {
    await scene.pool.query("insert into ctr_curve values ('default', $1, $2)", [position, ctr])
  }
}

describe('share of voice', () => {
  test('the published example of two queries is reproduced: 520 of 10,100 is 0.0515', async () => {
    await curve([1, 0.2], [5, 0.05])
    scene.story.says('small', { weight: 100 }).says('large', { weight: 10_000 })
    await scene.story.night('2026-01-01', {
      small: ['us.com/', 'b.com/'],
      large: placed(ten('r'), 5, 'us.com/'),
    })
    const [row] = (await ask(`select share_of_voice, visibility, weight, queries, ranked
      from analysis.share_of_voice where domain = 'us.com' and tag = '*'`)) as number[][]
    expect(row?.[0]).toBeCloseTo(520 / 10_100, 12)
    expect(row?.[0]?.toFixed(4)).toBe('0.0515')
    expect(row?.[1]).toBeCloseTo(520 / 10_100 / 0.2, 12)
    expect(row?.slice(2)).toEqual([10_100, 2, 2])
  })

  test('the best position of a domain counts once, and a query for which it does not rank counts as zero', async () => {
    await curve([1, 0.5], [2, 0.25])
    await scene.story.night('2026-01-01', { shoes: ['us.com/1', 'us.com/2'], boots: ['b.com/'] })
    expect(
      await ask(`select domain, share_of_voice, visibility from analysis.share_of_voice
        where tag = '*' order by domain`),
    ).toEqual([
      ['b.com', 0.25, 0.5],
      ['us.com', 0.25, 0.5],
    ])
  })

  test('each label has a separate total, and a query without weight weighs 1', async () => {
    await curve([1, 0.5], [2, 0.25])
    scene.story.says('shoes', { weight: 3, tags: ['red', 'new'] }).says('boots', { tags: ['red'] })
    await scene.story.night('2026-01-01', { shoes: ['us.com/'], boots: ['b.com/', 'us.com/'] })
    expect(
      await ask(`select tag, share_of_voice, queries, weight from analysis.share_of_voice
        where domain = 'us.com' and tag <> 'list=main' order by tag`),
    ).toEqual([
      ['*', (3 * 0.5 + 0.25) / 4, 2, 4],
      ['new', 0.5, 1, 3],
      ['red', (3 * 0.5 + 0.25) / 4, 2, 4],
    ])
  })

  test('a day without an answer to a query leaves that query out of the total', async () => {
    await curve([1, 0.5])
    await scene.story.night('2026-01-01', { shoes: ['us.com/'], boots: 'failed' })
    expect(
      await ask("select share_of_voice, queries from analysis.share_of_voice where tag = '*'"),
    ).toEqual([[0.5, 1]])
  })

  test('a domain of ours has a row of zeros where it does not rank, within its dates', async () => {
    await scene.pool.query(
      "insert into own_domains (domain, label, since) values ('us.com', 'Us', '2026-01-02')",
    )
    await scene.story.night('2026-01-01', { shoes: ['b.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['b.com/'] })
    expect(
      await ask(`select run_date, share_of_voice, ranked from analysis.share_of_voice
        where domain = 'us.com' and tag = '*'`),
    ).toEqual([['2026-01-02', 0, 0]])
  })

  test('one day of many unfinished ones is read alone', async () => {
    for (const day of ['2026-01-01', '2026-01-02', '2026-01-03']) {
      await scene.story.night(day, { shoes: ['us.com/'] })
    }
    const plan = await ask(
      "explain (analyze, format json) select * from analysis.share_of_voice where run_date = '2026-01-02'",
    )
    const reads = [
      ...JSON.stringify(plan).matchAll(/"Function Name":"(\w+_on)".*?"Actual Loops":(\d+)/g),
    ]
    expect(reads.map(([, name, loops]) => [name, loops])).toEqual(
      expect.arrayContaining([
        ['labels_on', '1'],
        ['shares_on', '1'],
      ]),
    )
    expect(reads.filter(([, , loops]) => Number(loops) > 1)).toEqual([])
  })

  test('a custom curve is used if the setting names it', async () => {
    await scene.pool.query("insert into ctr_curve values ('mine', 1, 0.9)")
    await scene.story.night('2026-01-01', { shoes: ['us.com/'] })
    const client = await scene.pool.connect()
    await client.query("set querymill.ctr_curve = 'mine'")
    const { rows } = await client.query(
      "select share_of_voice from analysis.share_of_voice where tag = '*'",
    )
    client.release(true)
    expect(rows).toEqual([{ share_of_voice: 0.9 }])
  })

  test('the default curve is 0.312 and 0.16 at the top, and 0.6702 over ten positions', async () => {
    expect(
      await ask(`select max(ctr) filter (where position = 1), max(ctr) filter (where position = 2),
        round(sum(ctr) filter (where position <= 10)::numeric, 4), count(*) from ctr_curve`),
    ).toEqual([[0.312, 0.16, 0.6702, 20]])
  })
})

describe('slices', () => {
  test('a query counts under its device, country, language and list as under a label, each once', async () => {
    await curve([1, 0.5], [2, 0.25])
    scene.story
      .says('shoes @m', { device: 'mobile', gl: 'de', hl: 'de', tags: ['device=mobile'] })
      .says('shoes @d', { device: 'desktop', gl: 'us', weight: 3 })
    await scene.story.night('2026-01-01', {
      'shoes @m': ['us.com/'],
      'shoes @d': ['b.com/', 'us.com/'],
    })
    expect(
      await ask(`select tag, share_of_voice, queries from analysis.share_of_voice
        where domain = 'us.com' order by tag collate "C"`),
    ).toEqual([
      ['*', (0.5 + 3 * 0.25) / 4, 2],
      ['country=de', 0.5, 1],
      ['country=us', 0.25, 1],
      ['device=desktop', 0.25, 1],
      ['device=mobile', 0.5, 1],
      ['language=de', 0.5, 1],
      ['list=main', (0.5 + 3 * 0.25) / 4, 2],
    ])
  })
})

describe('values of lists', () => {
  test('a changed weight or label leaves earlier days unchanged', async () => {
    await curve([1, 0.5])
    scene.story.says('shoes', { weight: 2, tags: ['old'] })
    await scene.story.night('2026-01-01', { shoes: ['us.com/'], boots: ['b.com/'] })
    scene.story.says('shoes', { weight: 8, tags: ['new'] })
    await scene.story.night('2026-01-02', { shoes: ['us.com/'], boots: ['b.com/'] })
    scene.story.says('shoes', { weight: 1 })
    await scene.story.night('2026-01-03', { shoes: ['us.com/'], boots: ['b.com/'] })
    expect(
      await ask(
        `select run_date, tags, weight from analysis.memberships where q = 'shoes' order by 1`,
      ),
    ).toEqual([
      ['2026-01-01', ['old'], 2],
      ['2026-01-02', ['new'], 8],
      ['2026-01-03', [], 1],
    ])
    expect(
      await ask(`select run_date, tag, weight from analysis.share_of_voice
        where domain = 'us.com' and tag <> 'list=main' order by run_date, tag`),
    ).toEqual([
      ['2026-01-01', '*', 3],
      ['2026-01-01', 'old', 2],
      ['2026-01-02', '*', 9],
      ['2026-01-02', 'new', 8],
      ['2026-01-03', '*', 2],
    ])
  })

  test('a reading without changes writes no history', async () => {
    scene.story.says('shoes', { weight: 2, tags: ['old'] })
    await scene.story.night('2026-01-01', { shoes: ['us.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['us.com/'] })
    expect(await ask('select * from list_query_history')).toEqual([])
  })

  test('a query in two lists has the labels of both and the higher weight', async () => {
    scene.story.says('shoes', { weight: 2, tags: ['red', 'a'] })
    await scene.story.night('2026-01-01', { shoes: ['us.com/'] }, { list: 'one' })
    scene.story.says('shoes', { weight: 5, tags: ['b', 'red'] })
    await scene.story.night('2026-01-01', { shoes: ['us.com/'] }, { list: 'two' })
    expect(await ask('select tags, weight from analysis.query_days')).toEqual([
      [['a', 'b', 'red'], 5],
    ])
    expect(await ask('select tag from analysis.query_tags order by tag')).toEqual([
      ['*'],
      ['a'],
      ['b'],
      ['list=one'],
      ['list=two'],
      ['red'],
    ])
  })
})

describe('buckets, averages and coverage', () => {
  async function fiveQueries(): Promise<void> {
    const deep = [...ten('r'), ...ten('s'), 't.com/', 'us.com/']
    await scene.story.night('2026-01-01', {
      first: ['us.com/'],
      seventh: placed(ten('r'), 7, 'us.com/'),
      fifteenth: placed([...ten('r'), ...ten('s')], 15, 'us.com/'),
      deep,
      absent: ten('r'),
    })
  }

  test('each query is in one bucket, and the buckets add up', async () => {
    await fiveQueries()
    expect(
      await ask(`select from_1_to_3, from_4_to_10, from_11_to_20, from_21, not_ranked, queries
        from analysis.position_buckets where domain = 'us.com' and tag = '*'`),
    ).toEqual([[1, 1, 1, 1, 1, 5]])
  })

  test('the average is shown over ranked queries and with a substitute, never as one number', async () => {
    await fiveQueries()
    const average = `select average_where_ranked, average_with_stand_in, stand_in, ranked
      from analysis.average_rank where domain = 'us.com' and tag = '*'`
    expect(await ask(average)).toEqual([
      [(1 + 7 + 15 + 22) / 4, (1 + 7 + 15 + 22 + 100) / 5, 100, 4],
    ])
    const client = await scene.pool.connect()
    await client.query("set querymill.not_ranked_as = '120'")
    const { rows } = await client.query({ text: average, rowMode: 'array' })
    client.release(true)
    expect(rows).toEqual([[11.25, (45 + 120) / 5, 120, 4]])
  })

  test('a domain of ours that ranks nowhere has no average over ranked queries', async () => {
    await scene.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
    await scene.story.night('2026-01-01', { shoes: ['b.com/'] })
    expect(
      await ask(`select average_where_ranked, average_with_stand_in from analysis.average_rank
        where domain = 'us.com' and tag = '*'`),
    ).toEqual([[null, 100]])
  })

  test('coverage is the share of queries within three, ten and all positions', async () => {
    await fiveQueries()
    expect(
      await ask(`select share_in_top_3, share_in_top_10, share_ranked
        from analysis.domain_coverage where domain = 'us.com' and tag = '*'`),
    ).toEqual([[0.2, 0.4, 0.8]])
  })

  test('one domain with all clicks is full concentration, two equal ones are a half', async () => {
    await curve([1, 0.5])
    await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['a.com/'], boots: ['b.com/'] })
    expect(
      await ask(
        "select run_date, domains, hhi from analysis.concentration where tag = '*' order by 1",
      ),
    ).toEqual([
      ['2026-01-01', 1, 1],
      ['2026-01-02', 2, 0.5],
    ])
  })

  test('striking distance orders positions 4 to 20 by what position 3 would add', async () => {
    await curve([3, 0.1], [4, 0.06], [5, 0.02])
    scene.story.says('heavy', { weight: 10 })
    await scene.story.night('2026-01-01', {
      heavy: placed(ten('r'), 4, 'us.com/'),
      light: placed(ten('r'), 5, 'us.com/'),
      third: placed(ten('r'), 3, 'us.com/'),
    })
    const rows = (await ask(`select q, position, gain from analysis.striking_distance
      where domain = 'us.com' order by gain desc`)) as [string, number, number][]
    expect(rows.map(([q, position, gain]) => [q, position, gain.toFixed(3)])).toEqual([
      ['heavy', 4, '0.400'],
      ['light', 5, '0.080'],
    ])
  })

  test('topics have separate shares', async () => {
    await curve([1, 0.5])
    await scene.story.night('2026-01-01', {
      shoes: { results: ['us.com/'], clusters: ['Sport', 'Feet'] },
      boots: { results: ['b.com/'], clusters: ['Feet'] },
    })
    expect(
      await ask(
        'select topic, domain, share_of_voice, queries from analysis.topic_share order by 1, 2',
      ),
    ).toEqual([
      ['Feet', 'b.com', 0.25, 2],
      ['Feet', 'us.com', 0.25, 2],
      ['Sport', 'us.com', 0.5, 1],
    ])
  })
})
