import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dropReader, placed, Story, ten } from '../../../../analysis/story.ts'
import { contentId } from '../../../../../src/shared/ids.ts'
import { ensureReader } from '../../../../../src/store/analysis/analyst.ts'
import { freshDatabase, type FreshDatabase } from '../../../../support/database.ts'
import { openDesk, type TestDesk } from '../../../../support/desk.ts'

const hostile = '<script>alert(1)</script>'
const page = contentId('page', 'https://us.com/1')

let database: FreshDatabase
let desk: TestDesk
let story: Story

beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
  story = new Story(database.pool)
  const titles = ten('r').map(() => 'Old')
  await story.night('2026-01-01', {
    boots: { results: placed(ten('r'), 5, 'us.com/1'), titles },
    socks: { results: placed(ten('r'), 3, 'https://us.com/1#part'), titles },
  })
  await story.night('2026-01-02', {
    boots: { results: placed(ten('r'), 2, 'us.com/1'), titles: titles.map(() => hostile) },
    socks: placed(ten('r'), 3, 'them.com/'),
  })
  desk = await openDesk(database.url)
})
afterAll(async () => {
  await desk.close()
  await dropReader(database.pool)
  await database.close()
})

const view = async (path: string) => {
  const { status, text } = await desk.get(path)
  expect(status, path).toBe(200)
  expect(text, path).not.toContain('<script>alert')
  expect(text, path).not.toMatch(/href="\s*javascript:/i)
  return text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
}
const days = 'since=2026-01-01&until=2026-01-02'

describe('the page of a page', () => {
  test('its places are told for each query, in all spellings of its address', async () => {
    const text = await view(`/pages/${page}?${days}`)
    expect(text).toMatch(/boots 5 2 ▲ up 3 2 2 2026-01-02/)
    expect(text).toContain('queries that show it now 1')
    expect(text).toContain('best place 2')
  })

  test('where it is gone, who stands in its place is told, with both nights side by side', async () => {
    const text = await view(`/pages/${page}?${days}`)
    expect(text).toMatch(/socks 3 – gone 3 1 2026-01-01 · beside 2026-01-02 them\.com/)
    const { text: markup } = await desk.get(`/pages/${page}?${days}`)
    expect(markup).toContain(`/queries/${story.idOf('socks')}/nights/2026-01-02?beside=2026-01-01`)
    expect(markup).toMatch(/href="\/domains\/us\.com/)
  })

  test('each title stands with its days', async () => {
    const text = await view(`/pages/${page}?${days}`)
    expect(text).toContain('Old 2026-01-01 2026-01-01')
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; 2026-01-02 2026-01-02')
  })

  test('a page whose address is a script is shown as text', async () => {
    await database.pool.query(
      "insert into pages (id, url, url_key) values (gen_random_uuid(), 'javascript:alert(1)', 'javascript:alert(1)')",
    )
    const { rows } = await database.pool.query<{ id: string }>(
      "select id from pages where url = 'javascript:alert(1)'",
    )
    expect(await view(`/pages/${rows[0]?.id}?${days}`)).toContain('javascript:alert(1)')
  })

  test('an unknown page and impossible days are refused, a time without it says so', async () => {
    expect((await desk.get('/pages/nonsense')).status).toBe(404)
    expect((await desk.get('/pages/00000000-0000-0000-0000-000000000000')).status).toBe(404)
    expect((await desk.get(`/pages/${page}?since=2026-02-30`)).status).toBe(400)
    expect(await view(`/pages/${page}?since=2025-01-01&until=2025-01-02`)).toContain(
      'No answer of this time',
    )
    expect(await view(`/pages/${page}?since=2016-01-01&until=2026-01-02`)).toContain(
      'more days are not read',
    )
  })
})
