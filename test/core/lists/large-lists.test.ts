import { describe, expect, test } from 'vitest'
import { openList } from '../../../src/core/lists/read.ts'
import { noDefaults } from '../../../src/core/lists/options.ts'
import { openStream } from '../../../src/core/lists/source.ts'
import { options, read } from './support.ts'

async function* piped(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

describe('a list that is larger than it looks', () => {
  test('multiplies out in pieces, whatever its lines come to together', async () => {
    const places = Array.from({ length: 500 }, (_, index) => `Place ${index}`)
    const text = `q\n${Array.from({ length: 100 }, (_, index) => `word ${index}\n`).join('')}`
    const defaults = { ...noDefaults, location: places }
    const list = await openList(openStream(piped(text)), { ...options, defaults })
    let given = 0
    let usable = 0
    for await (const piece of list.pieces) {
      expect(piece.queries.length).toBeLessThan(5_000 + places.length)
      given += piece.queries.length
      usable += piece.usable
    }
    expect(given).toBe(100 * places.length)
    expect(usable).toBe(100)
  })

  test('with more places than are kept in mind has each query at its own place', async () => {
    const lines = Array.from({ length: 12_000 }, (_, index) => `word,Place number ${index}\n`)
    const { queries } = await read(`q,location\n${lines.join('')}${lines.join('')}`)
    const places = queries.map(({ query }) => query.location)
    const expected = lines.map((_, index) => `Place number ${index}`)
    expect(places).toEqual([...expected, ...expected])
    expect(new Set(queries.map(({ id }) => id)).size).toBe(12_000)
  })

  test('has lines that multiply out too far rejected, and the others read', async () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index + 1).join('|')
    const places = (count: number) =>
      Array.from({ length: count }, (_, index) => `Place ${index}`).join('|')
    const text = `q,nums,locations\nfoo,${numbers},${places(201)}\nbar,${numbers},${places(200)}\n`
    const { usable, rejected, queries } = await read(text)
    expect(rejected).toMatchObject([{ line: 2, reason: 'expands to more than 20000 queries' }])
    expect(usable).toBe(1)
    expect(queries).toHaveLength(20_000)
  })

  test('is refused when what holds for all its lines multiplies out too far', async () => {
    const location = Array.from({ length: 201 }, (_, index) => `Place ${index}`)
    const num = Array.from({ length: 100 }, (_, index) => index + 1)
    await expect(read('q\nfoo\n', { defaults: { ...noDefaults, location, num } })).rejects.toThrow(
      'expected at most 20000 queries for each line, got 20100',
    )
  })

  test('is read in a moment even when a cell holds more than a hundred thousand values', async () => {
    const places = Array.from({ length: 140_000 }, (_, index) => `p${index}`).join('|')
    const before = process.cpuUsage()
    const { rejected } = await read(`q,locations\nfoo,${places}\n`)
    expect(rejected).toHaveLength(1)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(5_000)
  })
})
