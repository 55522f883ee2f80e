import { describe, expect, test } from 'vitest'
import { deskScene } from '../scene.ts'

const scene = deskScene()

describe('tonight', () => {
  test('with nothing in the tables it says what to type', async () => {
    const { status, text } = await scene.desk.get('/')
    expect(status).toBe(200)
    expect(text).toContain('npm run enqueue inputs/keywords.csv')
  })

  test('runs with failures are named, however far down they stand, each with a way to it', async () => {
    await scene.story.night('2026-01-01', { boots: 'failed', socks: 'failed', hats: ['a.com/'] })
    for (let day = 2; day <= 9; day += 1) {
      await scene.story.night(`2026-01-0${day}`, { hats: ['a.com/'] })
    }
    expect(await scene.view('/')).toMatch(/Failed or unknown: run 1 of 2026-01-01 \(2\)/)
    expect(await scene.markup('/')).toContain('<a href="/runs/1">run 1 of 2026-01-01</a>')
  })

  test('an alert about a place leads to both nights of its query', async () => {
    const query = scene.story.idOf('hats')
    await scene.pool.query(
      `insert into alerts (rule, what, subject, said, question, list, query_id, domain, origin, base_run_date, run_date, run_id)
      values ('gone', 'left', 'hats', 'a.com left for hats', 'movers', 'main', $1, 'a.com', 'live', '2026-01-08', '2026-01-09', 9)`,
      [query],
    )
    expect(await scene.markup('/')).toContain(
      `<a href="/queries/${query}/nights/2026-01-09?beside=2026-01-08">both nights</a>`,
    )
  })
})
