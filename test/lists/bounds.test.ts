import { describe, expect, test } from 'vitest'
import { openList } from '../../src/lists/read.ts'
import { noDefaults } from '../../src/lists/requests.ts'
import { openStream } from '../../src/lists/source.ts'
import { options, read } from './support.ts'

async function* piped(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

describe('a list that is larger than it looks', () => {
  test('multiplies out in pieces, however many queries each line gives', async () => {
    const places = Array.from({ length: 500 }, (_, index) => `Place ${index}`)
    const text = `q\n${Array.from({ length: 100 }, (_, index) => `word ${index}\n`).join('')}`
    const defaults = { ...noDefaults, location: places }
    const list = await openList(openStream(piped(text)), { ...options, defaults })
    let given = 0
    let usable = 0
    for await (const batch of list.batches) {
      expect(batch.entries.length).toBeLessThan(5_000 + places.length)
      given += batch.entries.length
      usable += batch.usable
    }
    expect(given).toBe(100 * places.length)
    expect(usable).toBe(100)
  })

  test('with more places than are kept in mind has each query at its own place', async () => {
    const lines = Array.from({ length: 12_000 }, (_, index) => `word,Place number ${index}\n`)
    const { entries } = await read(`q,location\n${lines.join('')}${lines.join('')}`)
    const places = entries.map(({ query }) => query.location)
    const expected = lines.map((_, index) => `Place number ${index}`)
    expect(places).toEqual([...expected, ...expected])
    expect(new Set(entries.map(({ id }) => id)).size).toBe(12_000)
  })
})
