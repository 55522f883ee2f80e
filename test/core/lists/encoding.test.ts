import { describe, expect, test } from 'vitest'
import { read, utf16be } from './support.ts'

const text = 'q\nkäse kaufen\nбрынза\n'
const little = Buffer.from(`\ufeff${text}`, 'utf16le')
const big = utf16be(`\ufeff${text}`)

describe('an encoding that is named', () => {
  test.each([
    ['the mark, less significant byte first', little, 'utf-16le'],
    ['the mark, more significant byte first', big, 'utf-16be'],
    ['the bytes, where there is no mark', utf16be(text), 'utf-16be'],
    ['the usual order, where nothing tells', Buffer.from('你好', 'utf16le'), 'utf-16le'],
  ])('as utf-16 has the byte order of %s', async (_, bytes, label) => {
    for (const encoding of ['utf-16', ' UTF-16 ']) {
      const { texts, heading } = await read(bytes, { encoding })
      expect(heading.encoding).toMatchObject({ label, how: 'given' })
      expect(texts).toEqual(bytes.length === 4 ? ['你好'] : ['käse kaufen', 'брынза'])
    }
  })

  test.each([
    ['utf-16le', big],
    ['utf-16be', little],
    ['windows-1252', little],
    ['utf-8', big],
    ['utf-16', Buffer.from(`\ufeff${text}`)],
  ])('as %s against the mark of the file is refused', async (encoding, bytes) => {
    await expect(read(bytes, { encoding })).rejects.toThrow(
      /expected --encoding to match the byte order mark .* \(utf-\w+\), got "[\w-]+"; omit --encoding/,
    )
  })

  test('in the words of the mark is read', async () => {
    expect((await read(big, { encoding: 'utf-16be' })).texts).toEqual(['käse kaufen', 'брынза'])
    expect((await read(little, { encoding: 'UTF-16LE' })).texts).toEqual(['käse kaufen', 'брынза'])
  })
})

describe('a list with zeros among its bytes', () => {
  // In UTF-16, the bytes of the last text happen to be valid UTF-8 too.
  test.each([
    'cheese\nfoo\n',
    'käse\nmenü\n',
    'брынза\nсыр\n',
    'チーズ\nfoo\n',
    '치즈\nfoo\n',
    'a한カ\nfoo\n',
  ])('is UTF-16 when they stand at every other place, whatever its letters: %j', async (words) => {
    const expected = words.trim().split('\n')
    expect((await read(Buffer.from(words, 'utf16le'))).texts).toEqual(expected)
    expect((await read(utf16be(words))).texts).toEqual(expected)
  })
})
