import { describe, expect, test } from 'vitest'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene } from '../scene.ts'

const days = 'since=2026-01-01&until=2026-01-02'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query(
    "insert into own_domains (domain, label) values ('medium.com/us', 'Us'), ('*.ours.com', 'Us')",
  )
  // Never in an answer; known only from its domain line.
  await pool.query("insert into rival_domains (domain, label) values ('them.com/blog', 'Them')")
  const both = (first: number, second: number) =>
    placed(placed(ten('r'), first, 'medium.com/us/1'), second, 'shop.ours.com/')
  await story.night('2026-01-01', { boots: both(3, 5) })
  await story.night('2026-01-02', { boots: both(1, 7) })
})

describe('folders and wildcards in our domain lines', () => {
  test('have a page each that the desk links from its table of domains', async () => {
    const { text } = await scene.desk.get(`/domains?${days}`)
    const links = [...text.matchAll(/href="(\/domains\/[^"?]+)/g)].map(([, path = '']) => path)
    expect(links).toContain('/domains/medium.com%2Fus')
    expect(links).toContain('/domains/*.ours.com')
    for (const path of new Set(links)) {
      expect((await scene.desk.get(`${path}?${days}`)).status, path).toBe(200)
    }
  })

  test('have a page with their positions, moves and pages', async () => {
    const folder = await scene.view(`/domains/${encodeURIComponent('Medium.com/us/')}?${days}`)
    expect(folder).toMatch(/Won \(1\).*boots 3 1 ▲ up 2/)
    expect(folder).toContain('medium.com/us/1')
    expect(await scene.view(`/domains/*.ours.com?${days}`)).toMatch(
      /Lost \(1\).*boots 5 7 ▼ down 2/,
    )
  })

  test('have a page even if no answer shows a rival’s site; an unknown site has none', async () => {
    expect(await scene.view(`/domains/them.com%2Fblog?${days}`)).toContain('them.com/blog')
    expect((await scene.desk.get('/domains/them.com%2Fshop')).status).toBe(404)
  })

  test('are drawn in the history of a query on request', async () => {
    const asked = encodeURIComponent('www.medium.com/us *.Ours.com')
    const text = await scene.view(`/queries/${scene.story.idOf('boots')}?${days}&domain=${asked}`)
    expect(text).toMatch(/2026-01-02 bought 1 7 /)
  })
})
