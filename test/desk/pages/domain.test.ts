import { describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { readRows } from '../../../src/base/database/sql-file.ts'
import { versionOf as readVersion } from '../../../src/desk/pages/domain.ts'
import { readHeldDays } from '../../../src/features/analysis/domains.ts'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene, untimed } from '../scene.ts'

const hostile = '<script>alert(1)</script>'
const days = 'since=2026-01-01&until=2026-01-03'

const scene = deskScene(async ({ story, pool }) => {
  story.says('boots', { weight: 3 }).says('socks', { weight: 1 })
  await pool.query("insert into own_domains (domain, label) values ('us.com', $1)", [hostile])
  const deep = [...ten('r'), ...ten('s')]
  await story.night('2026-01-01', {
    boots: placed(placed(deep, 1, 'us.com/1'), 12, 'us.com/2'),
    socks: placed(deep, 5, 'us.com/3'),
  })
  await story.night('2026-01-02', { boots: placed(deep, 2, 'us.com/1'), socks: deep })
  await story.night('2026-01-03', {
    boots: placed(placed(deep, 1, 'them.com/'), 4, 'us.com/1'),
    socks: placed(deep, 2, 'us.com/3'),
  })
})

describe('the page of a domain', () => {
  test('has the days of the share of voice and the position buckets', async () => {
    const found = await readHeldDays(scene.db, {
      domains: ['us.com'],
      since: '2026-01-01',
      until: '2026-01-03',
    })
    const { rows } = await scene.pool.query(
      `select run_date as "runDate", share_of_voice as share, ranked, queries, from_1_to_3 as top3,
        from_1_to_3 + from_4_to_10 as top10
      from analysis.share_of_voice
      join analysis.position_buckets using (run_date, tag, domain, queries)
      where tag = '*' and domain = 'us.com'
      order by run_date`,
    )
    expect(rows).toHaveLength(3)
    expect(found).toMatchObject(
      rows.map((row: { share: number }) => ({ ...row, share: expect.closeTo(row.share, 12) })),
    )
  })

  test('shows gains, losses and who took them, each with both nights side by side', async () => {
    const text = await scene.view(`/domains/us.com?${days}`)
    expect(text).toContain('Won (1)')
    expect(text).toMatch(/socks 5 2 ▲ up 3/)
    expect(text).toContain('Lost (1)')
    expect(text).toMatch(/boots 1 4 ▼ down 3/)
    expect(text).toMatch(/Clicks exchanged with other domains .* them\.com/)
    const { text: page } = await scene.desk.get(`/domains/us.com?${days}`)
    expect(page).toContain(
      `/queries/${scene.story.idOf('boots')}/nights/2026-01-03?beside=2026-01-01`,
    )
    expect(page).toMatch(/href="\/pages\/[0-9a-f-]{36}"/)
  })

  test('shows its pages and rivals from the last known answers', async () => {
    const text = await scene.view(`/domains/WWW.Us.com?${days}`)
    expect(text).toMatch(/us\.com\/3 1 2 socks/)
    expect(text).toMatch(/us\.com\/1 1 4 boots/)
    expect(text).not.toContain('us.com/2')
    expect(text).toMatch(/r3\.com 2 1 3/)
  })

  test('reads a part of ten years, and counts moves from the first answers', async () => {
    const text = await scene.view('/domains/us.com?since=2016-01-01&until=2026-01-03')
    expect(text).toContain('the maximum for one page')
    expect(text).toContain('as of 2026-01-01 with those as of 2026-01-03')
    expect(text).toContain('Won (1)')
  })

  test('is refused for a domain that no answer showed, and for impossible days', async () => {
    expect((await scene.desk.get('/domains/nowhere.example')).status).toBe(404)
    expect((await scene.desk.get(`/domains/${encodeURIComponent(hostile)}`)).status).toBe(404)
    expect((await scene.desk.get('/domains/%E0%A4%A')).status).toBeLessThan(500)
    expect((await scene.desk.get('/domains/us.com?since=2026-02-30')).status).toBe(400)
  })
})

describe('all domains', () => {
  test('have the shares of the day, for every domain', async () => {
    type DomainRow = { domain: string; share: number; ranked: number }
    const parameters = { since: '2026-01-01', until: '2026-01-03', word: null }
    const found = await readRows<DomainRow>(scene.db, 'read_domain_table', parameters)
    const { rows } = await scene.pool.query<{ domain: string; share: number; ranked: number }>(
      `select domain, share_of_voice as share, ranked
      from analysis.share_of_voice
      where tag = '*' and run_date = '2026-01-03'`,
    )
    const shown = found.filter(({ ranked }) => ranked > 0)
    expect(shown[0]?.domain).toBe('us.com')
    expect(shown).toHaveLength(rows.length)
    for (const { domain, share, ranked } of rows) {
      const one = shown.find((row) => row.domain === domain)
      expect(one, domain).toMatchObject({ ranked, share: expect.closeTo(share, 12) })
    }
  })

  test('have links to a domain that keep only the days', async () => {
    const markup = await scene.markup(`/domains?${days}`)
    expect(markup).toContain('href="/domains/us.com?since=2026-01-01&amp;until=2026-01-03"')
  })

  test('separate winners from losers, and a part of a name finds a domain', async () => {
    const text = await scene.view(`/domains?${days}`)
    expect(/Winners (.*?) Losers/.exec(text)?.[1]).toContain('them.com')
    expect(/Losers (.*?) Shares/.exec(text)?.[1]).toContain('us.com')
    expect(await scene.view(`/domains?${days}&word=THEM`)).not.toContain('us.com')
    expect(await scene.view(`/domains?${days}&word=${encodeURIComponent(hostile)}`)).toContain(
      'No domain with',
    )
  })
})

describe('the page of a domain, from stored days', () => {
  const span = { since: '2026-01-01', until: '2026-01-03', cut: false }
  const versionOf = () => readVersion(scene.db, { span, compared: span }, 'us.com')

  test('has the same figures, and follows the next reading of a list', async () => {
    const path = `/domains/us.com?${days}`
    const live = untimed(await scene.view(path))
    expect(await versionOf()).toBeNull()
    await finishDays(scene.db)
    const version = await versionOf()
    expect(version).not.toBeNull()
    expect(untimed(await scene.view(path))).toBe(live)
    expect(untimed(await scene.view(path))).toBe(live)
    const clicks = (text: string) => Number(/boots 1 4 ▼ down 3 (\S+)/.exec(text)?.[1])
    await scene.pool.query('update list_queries set weight = 10 * weight, last_seen = now()')
    expect(await versionOf()).not.toBe(version)
    expect(clicks(await scene.view(path))).toBeCloseTo(10 * clicks(live), 0)
  })

  test('follows a change of its answers', async () => {
    await scene.story.night('2026-01-04', { boots: ten('r'), socks: ten('r') })
    await finishDays(scene.db)
    const before = await scene.view('/domains/us.com?since=2026-01-01&until=2026-01-04')
    expect(before).toContain('Lost (2)')
    await scene.pool.query(
      `insert into quarantine (search_id, run_id, reason)
      select searches.id, tasks.run_id, 'test'
      from searches
      join tasks on tasks.id = searches.task_id
      join runs on runs.id = tasks.run_id
      where run_date = '2026-01-04' and searches.query_id = $1`,
      [scene.story.idOf('socks')],
    )
    await finishDays(scene.db)
    const after = await scene.view('/domains/us.com?since=2026-01-01&until=2026-01-04')
    expect(after).toContain('Lost (1)')
  })
})
