import { describe, expect, test } from 'vitest'
import { openList } from '../../src/lists/read.ts'
import { openStream } from '../../src/lists/source.ts'
import { options, read } from './support.ts'

const latin = Buffer.from('keyword;volume\ncaf\u00e9 cr\u00e8me;10\nfoo;12\n', 'latin1')

describe('a list whose encoding is unclear', () => {
  test('is refused with sample rows and what to type', async () => {
    await expect(read(latin)).rejects.toThrow(/--encoding windows-\d+ .*\n {2}caf.* cr.*me;10/)
  })

  test('is read when the encoding is named, or the guess is agreed to', async () => {
    expect((await read(latin, { encoding: 'windows-1252' })).texts).toEqual(['café crème', 'foo'])
    const guessed = await read(latin, { yes: true })
    expect(guessed.heading.encoding.guessed).toBe(true)
  })

  test('is refused with line and offset when other bytes come late', async () => {
    const good = Buffer.from('keyword,volume\n'.concat('plain words,1\n'.repeat(40_000)))
    const late = Buffer.concat([good, Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x2c, 0x31, 0x0a])])
    await expect(read(late)).rejects.toThrow(
      `list.csv:40002: expected UTF-8 to the end, got other bytes at offset ${good.length + 3}`,
    )
  })

  test('is refused when it is named wrong', async () => {
    await expect(read('q\na\n', { encoding: 'klingon' })).rejects.toThrow('--encoding')
    await expect(read(latin, { encoding: 'utf-8' })).rejects.toThrow('expected UTF-8 to the end')
  })

  test('keeps UTF-8 when the first bytes end inside a character', async () => {
    const lines = Array.from({ length: 400 }, (_, index) => `${'\u00e9'.repeat(1000)}${index}\n`)
    const { texts } = await read(`q\n${lines.join('')}`)
    expect(texts.join('\n')).toBe(lines.join('').trim())
  })
})

describe('a list whose header is unclear', () => {
  test.each([
    [
      'keyword,volume,keyword\na,1,b\n',
      'expected one column of queries, got "keyword" (1), "keyword" (3)',
    ],
    ['query,keyword\na,b\n', 'expected one column of queries'],
    ['q,gl,gl\na,us,de\n', 'expected one column gl, got two'],
    ['__proto__,constructor\na,b\nc,d\n', '"__proto__"'],
  ])('as in %j is refused', async (text, problem) => {
    await expect(read(text)).rejects.toThrow(problem)
  })

  test('is read by the column that is named', async () => {
    expect((await read('query,keyword\na,b\n', { column: 'keyword' })).texts).toEqual(['b'])
    expect((await read('keyword,volume,keyword\na,1,b\n', { column: '3' })).texts).toEqual(['b'])
    expect((await read('Begriff,Anzahl\nfoo,1\nbar,2\n', { column: 'Begriff' })).texts).toEqual([
      'foo',
      'bar',
    ])
  })

  test('is refused when the column that is named is not there', async () => {
    await expect(read('Begriff,Anzahl\nfoo,1\n', { column: 'Wort' })).rejects.toThrow(
      'expected a column "Wort"',
    )
  })

  test('is refused when two delimiters fit', async () => {
    await expect(read('q;x,keyword\na;1,b\nc;2,d\n')).rejects.toThrow('--delimiter')
  })
})

describe('a list without queries', () => {
  test.each(['', '\ufeff', '\n\n', ' \r\n\t\r\n'])(
    'such as %j is refused as empty',
    async (text) => {
      await expect(read(text)).rejects.toThrow('empty file')
    },
  )

  test('but with a header gives nothing', async () => {
    expect((await read('keyword,volume\n')).usable).toBe(0)
  })
})

describe('line ends', () => {
  test.each(['\n', '\r\n', '\r'])('written as %j end lines', async (end) => {
    const { entries } = await read(['q,gl', 'a,us', '"b\u0020c",de', ''].join(end))
    expect(entries.map(({ line, query }) => [line, query.q, query.gl])).toEqual([
      [2, 'a', 'us'],
      [3, 'b c', 'de'],
    ])
  })

  test('of every kind may be mixed', async () => {
    const { entries } = await read('q,gl\r\na,us\nb,de\rc,fr\r\n"d\r\ne",es\nf,it')
    expect(entries.map(({ line, query }) => [line, query.q])).toEqual([
      [2, 'a'],
      [3, 'b'],
      [4, 'c'],
      [5, 'd e'],
      [7, 'f'],
    ])
  })
})

describe('quotes', () => {
  test('that are never closed cost their own line only', async () => {
    const { texts, rejected } = await read('q,gl\na,us\n"b,de\nc,fr\nd,es\n')
    expect(texts).toEqual(['a', 'c', 'd'])
    expect(rejected).toMatchObject([
      { line: 3, reason: 'a quote that is never closed', content: '"b,de' },
    ])
  })

  test('after a blank are read, as people write them', async () => {
    const { texts } = await read('q, gl\n"a, b", us\nc, "de"\n')
    expect(texts).toEqual(['a, b', 'c'])
  })
})

describe('a line without end', () => {
  test('is stopped early, however long it would have become', async () => {
    let given = 0
    async function* endless(): AsyncGenerator<Buffer> {
      yield Buffer.from('q,gl\na,us\n')
      for (; given < 1024; given++) yield Buffer.alloc(1024 * 1024, 'x')
    }
    const drain = async (): Promise<void> => {
      const list = await openList(openStream(endless()), options)
      for await (const batch of list.batches) expect(batch.entries.length).toBeLessThan(2)
    }
    await expect(drain()).rejects.toThrow(
      /standard input:3: expected lines of a query list, got one of more than 1 MiB/,
    )
    expect(given).toBeLessThan(8)
  })

  test('because its quote is never closed is rejected, and the lines after it are read', async () => {
    const filler = 'word,us\n'.repeat(200_000)
    const { usable, rejected } = await read(`q,gl\n"open,us\n${filler}`)
    expect(usable).toBe(200_000)
    expect(rejected).toMatchObject([{ line: 2, reason: 'a quote that is never closed' }])
  })
})
