import { describe, expect, test } from 'vitest'
import { openDrift } from '../../../src/service/upstream/mock.ts'
import { openShop } from '../shop.ts'

const pages = Array.from({ length: 22 }, (_, index) => ({ url: `https://p${index}.example/` }))
const day = (number: number) => () => new Date(Date.UTC(2026, 0, number, 12))

function order(seed: string, number: number): string[] {
  return openDrift(seed, day(number))
    .rank('tea', pages)
    .map(({ url }) => url)
}

describe('changing answers', () => {
  test('are the same for the same seed and day, and different on other days and for other seeds', () => {
    expect(order('a', 5)).toEqual(order('a', 5))
    expect(order('a', 6)).not.toEqual(order('a', 5))
    expect(order('b', 5)).not.toEqual(order('a', 5))
  })

  test('change little from one day to the next: most of the first ten stay among them', () => {
    for (let number = 1; number <= 30; number += 1) {
      const [today, tomorrow] = [order('a', number), order('a', number + 1)]
      const kept = today.slice(0, 10).filter((url) => tomorrow.slice(0, 10).includes(url))
      expect(kept.length).toBeGreaterThanOrEqual(5)
    }
  })

  test('stay the same for days if calm, most of them, and change eventually', () => {
    const texts = Array.from({ length: 40 }, (_, index) => `tea ${index}`)
    const shown = (q: string, number: number) =>
      openDrift('a', day(number), true)
        .rank(q, pages)
        .map(({ url }) => url)
        .join(' ')
    const moved = texts.map((q) => {
      const days = Array.from({ length: 60 }, (_, index) => shown(q, index + 1))
      return days.filter((now, index) => index > 0 && now !== days[index - 1]).length
    })
    expect(moved.filter((times) => times <= 15).length).toBeGreaterThan(25)
    expect(moved.filter((times) => times >= 55).length).toBeGreaterThan(1)
    expect(moved.every((times) => times > 0)).toBe(true)
  })

  test('have a new first page at some time in a month, and pages that appear and disappear', () => {
    const days = Array.from({ length: 30 }, (_, index) => order('a', index + 1))
    expect(new Set(days.map(([first]) => first)).size).toBeGreaterThan(1)
    expect(new Set(days.map(({ length }) => length)).size).toBeGreaterThan(1)
  })

  test('are sold by a service that is configured for them, with their own positions', async () => {
    let today = new Date('2026-03-01T12:00:00Z')
    const shop = await openShop({ drift: 'seed', today: () => today })
    const key = await shop.live()
    const ask = async () => (await shop.ask('/v1/search?q=tea', key)).json.organic_results ?? []
    const first = await ask()
    expect(await ask()).toEqual(first)
    today = new Date('2026-03-12T12:00:00Z')
    const later = await ask()
    expect(later.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(later.map(({ url }) => url)).not.toEqual(first.map(({ url }) => url))
    const shared = later.filter(({ url }) => first.some((one) => one.url === url))
    expect(shared.length).toBeGreaterThan(2)
    await shop.service.close()
  })
})
