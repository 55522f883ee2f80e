import { describe, expect, test } from 'vitest'
import { deskScene } from '../scene.ts'

const scene = deskScene()

describe('operations', () => {
  test('with empty tables it shows the command to run', async () => {
    const { status, text } = await scene.desk.get('/operations')
    expect(status).toBe(200)
    expect(text).toContain('npm run enqueue inputs/keywords.csv')
  })

  test('runs with failures are named, however far down they are, each with a link', async () => {
    await scene.story.night('2026-01-01', { boots: 'failed', socks: 'failed', hats: ['a.com/'] })
    for (let day = 2; day <= 9; day += 1) {
      await scene.story.night(`2026-01-0${day}`, { hats: ['a.com/'] })
    }
    expect(await scene.view('/operations')).toMatch(
      /Runs with failed or unknown tasks: run 1 of 2026-01-01 \(2\)/,
    )
    expect(await scene.markup('/operations')).toContain('<a href="/runs/1">run 1 of 2026-01-01</a>')
  })
})
