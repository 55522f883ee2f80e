import { describe, expect, test } from 'vitest'
import { decideCadence } from '../../../../../src/commands/mill/cadence/cadence.ts'
import { deskScene } from '../../scene.ts'

const still = Array.from({ length: 10 }, (_, place) => `a.example/${place}`)
const dateOf = (day: number) => `2026-03-${String(day).padStart(2, '0')}`

const scene = deskScene(async ({ story, db }) => {
  for (let day = 1; day <= 20; day++) {
    const shoes = { results: day < 19 ? still : [...still.slice(0, 9), 'b.example/new'], depth: 20 }
    await story.night(dateOf(day), { 'red shoes': shoes, hats: { results: still, depth: 20 } })
  }
  const night = { longestDays: 14, origin: 'live', api: 'api.example.com' } as const
  for (const day of [19, 20, 21]) {
    await decideCadence(db, { ...night, list: 1, runDate: dateOf(day) })
  }
})

describe('asking less', () => {
  test('shows for each list that rests what it saved, what it saw and how often its queries are asked', async () => {
    const view = await scene.view('/cadence?since=2026-03-01&until=2026-03-31')
    expect(view).toContain('credits spent')
    expect(view).toContain('How often the queries of main are asked, as decided for 2026-03-21')
    expect(view).toMatch(/every 2 days 1 1 of 2/)
    expect(view).toContain('Pages that each night of main saw enter or leave the first ten')
  })

  test('is found from the nights', async () => {
    expect(await scene.markup('/nights?since=2026-03-01&until=2026-03-31')).toMatch(
      /href="\/cadence/,
    )
  })
})
