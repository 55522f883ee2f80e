import { describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { readRows } from '../../../src/base/database/sql-file.ts'
import { type DomainDay, readHeldDays } from '../../../src/features/analysis/domains.ts'
import { pageId, placed, ten } from '../../features/analysis/story.ts'
import { deskScene, untimed } from '../scene.ts'

const hostile = '<script>alert(1)</script>'
const page = pageId('https://us.com/1')

const scene = deskScene(async ({ story }) => {
  const titles = ten('r').map(() => 'Old')
  await story.night('2026-01-01', {
    boots: { results: placed(ten('r'), 5, 'us.com/1'), titles },
    socks: { results: placed(ten('r'), 3, 'https://us.com/1#part'), titles },
  })
  await story.night('2026-01-02', {
    boots: { results: placed(ten('r'), 2, 'us.com/1'), titles: titles.map(() => hostile) },
    socks: placed(ten('r'), 3, 'them.com/'),
  })
})

const days = 'since=2026-01-01&until=2026-01-02'

describe('the page of a ranking URL', () => {
  test('shows its positions for each query, in all spellings of its address', async () => {
    const text = await scene.view(`/pages/${page}?${days}`)
    expect(text).toMatch(/boots 5 2 ▲ up 3 2 2 2026-01-02/)
    expect(text).toContain('queries with the page now 1')
    expect(text).toContain('best position 2')
  })

  test('shows what replaced it where it is gone, with both nights side by side', async () => {
    const text = await scene.view(`/pages/${page}?${days}`)
    expect(text).toMatch(/socks 3 – gone 3 1 2026-01-01 · compare with 2026-01-02 them\.com/)
    const { text: markup } = await scene.desk.get(`/pages/${page}?${days}`)
    expect(markup).toContain(
      `/queries/${scene.story.idOf('socks')}/nights/2026-01-02?beside=2026-01-01`,
    )
    expect(markup).toMatch(/href="\/domains\/us\.com/)
  })

  test('counts its share and positions among all answers', async () => {
    // The only page of its domain, so both have the same figures.
    const key = 'us.com/1'
    const span = { since: '2026-01-01', until: '2026-01-02' }
    const found = await readRows<DomainDay>(scene.db, 'read_page_holdings', { key, ...span })
    expect(await readHeldDays(scene.db, { domains: ['us.com'], ...span })).toMatchObject(found)
    expect(found.map(({ ranked, top3, queries }) => [ranked, top3, queries])).toEqual([
      [2, 1, 2],
      [1, 1, 2],
    ])
    const text = await scene.view(`/pages/${page}?${days}`)
    const share = ((found[1]?.share ?? 0) * 100).toFixed(2)
    expect(text).toContain(`share of voice on 2026-01-02 ${share} %`)
    expect(text).toContain('queries with a position (of 2) 1')
  })

  test('shows gains, losses and replacements between the two days', async () => {
    const text = await scene.view(`/pages/${page}?${days}`)
    expect(text).toMatch(/Won \(1\).*boots 5 2 ▲ up 3 [^ ]+ side by side Lost/)
    expect(text).toMatch(/Lost \(1\).*socks 3 – gone -[\d.]+ side by side them\.com/)
  })

  test('shows each title with its days', async () => {
    const text = await scene.view(`/pages/${page}?${days}`)
    expect(text).toContain('Old 2026-01-01 2026-01-01')
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; 2026-01-02 2026-01-02')
  })

  test('shows an address with a script as text', async () => {
    await scene.pool.query(
      "insert into pages (id, url, url_key) values (gen_random_uuid(), 'javascript:alert(1)', 'javascript:alert(1)')",
    )
    const { rows } = await scene.pool.query<{ id: string }>(
      "select id from pages where url = 'javascript:alert(1)'",
    )
    expect(await scene.view(`/pages/${rows[0]?.id}?${days}`)).toContain('javascript:alert(1)')
  })

  test('has the same figures from stored days', async () => {
    const live = untimed(await scene.view(`/pages/${page}?${days}`))
    await finishDays(scene.db)
    expect(untimed(await scene.view(`/pages/${page}?${days}`))).toBe(live)
    expect(untimed(await scene.view(`/pages/${page}?${days}`))).toBe(live)
  })

  test('refuses an unknown page and impossible days, and a period without it says so', async () => {
    expect((await scene.desk.get('/pages/nonsense')).status).toBe(404)
    expect((await scene.desk.get('/pages/00000000-0000-0000-0000-000000000000')).status).toBe(404)
    expect((await scene.desk.get(`/pages/${page}?since=2026-02-30`)).status).toBe(400)
    expect(await scene.view(`/pages/${page}?since=2025-01-01&until=2025-01-02`)).toContain(
      'The page does not appear in any answer',
    )
    expect(await scene.view(`/pages/${page}?since=2016-01-01&until=2026-01-02`)).toContain(
      'the maximum for one page',
    )
  })
})
