import { describe, expect, test } from 'vitest'
import { storedFigures } from '../../src/desk/stored-figures.ts'

describe('figures of stored days', () => {
  const database = {}

  /** Reads figures through a cache; each reading has the next number. */
  function counter(most: number) {
    const cache = storedFigures<number>(most)
    let readings = 0
    return (key: string | null, of: object = database) =>
      cache(of, key, async () => (readings += 1))
  }

  test('are read once for each key and database', async () => {
    const get = counter(10)
    expect([await get('a'), await get('b'), await get('a'), await get('b')]).toEqual([1, 2, 1, 2])
    expect(await get('a', {})).toBe(3)
  })

  test('without a key are read every time', async () => {
    const get = counter(10)
    expect([await get(null), await get(null)]).toEqual([1, 2])
  })

  test('that were read first are dropped first', async () => {
    const get = counter(2)
    expect([await get('a'), await get('b'), await get('c')]).toEqual([1, 2, 3])
    expect([await get('c'), await get('b'), await get('a')]).toEqual([3, 2, 4])
  })
})
