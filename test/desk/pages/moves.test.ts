import { describe, expect, test } from 'vitest'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await story.night('2026-01-01', { boots: placed(ten('r'), 4, 'us.com/1') })
  await story.night('2026-01-03', { boots: placed(ten('r'), 2, 'us.com/1') })
})

describe('the moves of a night', () => {
  test('link to both nights side by side, to the query and to the domain', async () => {
    const { rows } = await scene.pool.query<{ id: number }>('select max(id) as id from runs')
    const path = `/runs/${rows[0]?.id}`
    expect(await scene.view(path)).toMatch(/boots us\.com 4 2 ▲ up/)
    const beside = `/queries/${scene.story.idOf('boots')}/nights/2026-01-03?beside=2026-01-01`
    const markup = await scene.markup(path)
    expect(markup).toContain(`href="${beside}"`)
    expect(markup).toContain('href="/domains/us.com"')
    expect(await scene.view(beside)).toContain('2026-01-01 and 2026-01-03')
  })
})
