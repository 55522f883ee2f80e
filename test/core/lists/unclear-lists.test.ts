// @module-tag slow
import { describe, expect, test } from 'vitest'
import { openList } from '../../../src/core/lists/read.ts'
import { openStream } from '../../../src/core/lists/source.ts'
import { options, read } from './support.ts'

const latin = Buffer.from('keyword;volume\ncaf\u00e9 cr\u00e8me;10\nfoo;12\n', 'latin1')

describe('a list whose encoding is unclear', () => {
  test('is refused with sample rows and what to type', async () => {
    await expect(read(latin)).rejects.toThrow(/--encoding windows-\d+, .*\n {2}caf.* cr.*me;10/)
  })

  test('is read when the encoding is named, and by nothing else', async () => {
    const named = await read(latin, { encoding: 'windows-1252' })
    expect(named.texts).toEqual(['café crème', 'foo'])
    expect(named.heading.encoding.how).toBe('given')
    await expect(read(latin)).rejects.not.toThrow('--yes')
  })

  test.each([
    [
      'shift_jis',
      'g0yBW4OPgVuDaAqQ1IKijEMgg4GDk4NZCpOMi54gk1aLQyCPVIrUCpHljeMgg4mDk4NgIIKogreCt4LfCg==',
    ],
    ['euc-kr', 'xbC/9rXlCruhsKMgvcW53wq8rb/vILOvvr4Kus676iC4wMH9IMPfw7UKsNy/7yDE2sauCg=='],
    ['windows-874', 'pNOk6bnL0grDzafgt+nSytXhtKcKysDSvs3SodLIocPYp+C3vgrD6dK5zdLL0sPNw+jNwgo='],
    [
      'windows-1250',
      'c7Nvd28ga2x1Y3pvd2UKY3plcndvbmUgYnV0eSBt6nNraWUKv/OzdGEgc3VraWVua2EgbmEgd2VzZWxlCpxuaWFkYW5pZSCz82SfCp9y82SzbyCcd2lhdLNhCg==',
    ],
    [
      'macintosh',
      'bW90IGNsjgpjaGF1c3N1cmVzIGTVjnSOCmNyj21lIGJynmyOZSCIIGxhIHBvkGxlCmZvcpB0IHByj3MgZGUgbYljb24KZ2FyjW9uIG1hbnF1jgo=',
    ],
    [
      'iso-8859-2',
      'c7Nvd28ga2x1Y3pvd2UKY3plcndvbmUgYnV0eSBt6nNraWUKv/OzdGEgc3VraWVua2EgbmEgd2VzZWxlCrZuaWFkYW5pZSCz82S8Cg==',
    ],
  ])('in %s is told by its name', async (label, base64) => {
    await expect(read(Buffer.from(base64, 'base64'))).rejects.toThrow(`--encoding ${label},`)
  })

  test.each([
    ['at once', 'q\ncafé\n', 'another café\n'],
    ['after a while', 'q\ncafé\n', 'crème brûlée\n'.repeat(9)],
  ])('is UTF-8 with a bad byte when its other letters are UTF-8, %s', async (_, before, after) => {
    const bytes = Buffer.concat([
      Buffer.from(before),
      Buffer.from([0x61, 0xe9, 0x0a]),
      Buffer.from(after),
    ])
    await expect(read(bytes)).rejects.toThrow(
      `list.csv:3: expected UTF-8 throughout, got an invalid byte at offset ${Buffer.byteLength(before) + 1}`,
    )
  })

  test('in UTF-32 is named as that, with its mark and without', async () => {
    const wide = (text: string): Buffer =>
      Buffer.concat(
        [...text].map((sign) =>
          Buffer.from([sign.charCodeAt(0) & 255, sign.charCodeAt(0) >> 8, 0, 0]),
        ),
      )
    await expect(read(wide('\ufeffq\nred shoes\n'))).rejects.toThrow('got UTF-32')
    await expect(read(wide('q\nred shoes\n'))).rejects.toThrow('got UTF-32')
    await expect(read(Buffer.from(wide('q\nred shoes\n').toReversed()))).rejects.toThrow(
      'got UTF-32',
    )
  })

  test('is refused with line and offset when other bytes come late', async () => {
    const good = Buffer.from('keyword,volume\n'.concat('plain words,1\n'.repeat(40_000)))
    const late = Buffer.concat([good, Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x2c, 0x31, 0x0a])])
    await expect(read(late)).rejects.toThrow(
      `list.csv:40002: expected UTF-8 throughout, got an invalid byte at offset ${good.length + 3}`,
    )
  })

  test('is refused when it is named wrong', async () => {
    await expect(read('q\na\n', { encoding: 'klingon' })).rejects.toThrow('--encoding')
    await expect(read(latin, { encoding: 'utf-8' })).rejects.toThrow('expected UTF-8 throughout')
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
      'expected one query column, got "keyword" (1), "keyword" (3)',
    ],
    ['query,keyword\na,b\n', 'expected one query column'],
    ['q,gl,gl\na,us,de\n', 'expected one gl column, got two'],
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

describe('a list of several columns without a header', () => {
  const text = 'css grid,100,0.5\nflexbox,200,0.7\nhtml,3,0.1\n'
  const hint = 'if the file has no header, use --no-header --column 1'
  const bare = { header: false, column: '1' }

  test('is refused with what to type, and that reads its first line too', async () => {
    await expect(read(text)).rejects.toThrow(hint)
    await expect(read(text)).rejects.not.toThrow('select it with --column')
    expect((await read(text, { column: '1' })).texts).toEqual(['css grid', 'flexbox', 'html'])
    expect((await read(text, bare)).texts).toEqual(['css grid', 'flexbox', 'html'])
  })

  test('of words alone is read whole by --no-header, and by --column in the words of the message', async () => {
    const words = 'red shoes,footwear\nboots,garden\nhats,wool\n'
    await expect(read(words)).rejects.toThrow(hint)
    expect((await read(words, bare)).texts).toEqual(['red shoes', 'boots', 'hats'])
    await expect(read(words, { header: false })).rejects.toThrow(
      'the first row is 1 "red shoes", 2 "footwear"',
    )
    await expect(read(words, { header: false, column: 'keyword' })).rejects.toThrow(
      'the number of the query column',
    )
    expect((await read('keyword\nboots\n', { header: false })).texts).toEqual(['keyword', 'boots'])
  })

  test('is read by the number of the column that the message names', async () => {
    const second = text.replace(/^/gm, '7,').trimEnd().slice(0, -2)
    await expect(read(second)).rejects.toThrow('use --no-header --column 2')
    expect((await read(second, { column: '2' })).texts).toEqual(['css grid', 'flexbox', 'html'])
  })

  test('of one line has a column that would do', async () => {
    await expect(read('css grid,100,0.5\n')).rejects.toThrow(hint)
    expect((await read('css grid,100,0.5\n', { column: '1' })).texts).toEqual(['css grid'])
  })

  test('loses no line to a gap among its numbers or a query of figures', async () => {
    for (const row of ['flexbox,n/a,0.7', '"flexbox, css",200,0.7', 'x,,']) {
      const { usable } = await read(`css grid,100,0.5\n${row}\n123,3,0.1\n`, { column: '1' })
      expect(usable, row).toBe(3)
    }
    expect((await read('css grid\n404\n500\n', { column: '1' })).usable).toBe(3)
  })

  test('and a blank after each comma is read by its number too', async () => {
    const spaced = text.replaceAll(',', ', ')
    await expect(read(spaced)).rejects.toThrow(hint)
    expect((await read(spaced, { column: '1' })).texts).toEqual(['css grid', 'flexbox', 'html'])
  })

  test('that two delimiters fit is refused with the one to type', async () => {
    const twice = 'css;grid,100\nflex;box,200\na;b,n/a\n'
    await expect(read(twice)).rejects.toThrow('use --delimiter comma --no-header --column 1')
    const { texts } = await read(twice, { ...bare, delimiter: 'comma' })
    expect(texts).toEqual(['css;grid', 'flex;box', 'a;b'])
  })

  test('is not supposed where words stand over numbers', async () => {
    const headed = 'Begriff,Anzahl\nfoo,1\nbar,2\n'
    await expect(read(headed)).rejects.not.toThrow('has no header')
    await expect(read(headed)).rejects.toThrow('select it with --column')
    expect((await read(headed, { column: '1' })).texts).toEqual(['foo', 'bar'])
  })

  test.each([
    'My report,,\n"May, 2026",,\nBegriff,Land,Anzahl\nfoo,de,1\nbar,fr,2\n',
    'Key,Value,Unit\nEngine,google,all\n\nBegriff,Land,Anzahl\nfoo,de,1\nbar,fr,2\n',
  ])('is not supposed below a report of settings such as %j', async (report) => {
    expect((await read(report, { column: '1' })).texts).toEqual(['foo', 'bar'])
  })
})

describe('a list without queries', () => {
  test.each([
    'date\n2026-01-01\n2026-01-02\n',
    'Datum\r\n31.01.2026\r\n1.2.2026\r\n\r\n',
    'Tag\n1/31/2026 10:05\n2/1/2026 10:05\n',
    '2026-01-01T10:05:00Z\n2026-01-02T10:05:00Z\n',
    'Address\nhttps://a.example/\n',
  ])(
    'but of dates or addresses such as %j is refused, unless each line is said to be one',
    async (text) => {
      await expect(read(text)).rejects.toThrow(
        /expected a query column .*; use --delimiter none if each line is one query$/,
      )
      const lines = text.split(/\r?\n/).filter((line) => line !== '')
      expect((await read(text, { delimiter: 'none' })).texts).toEqual(lines)
    },
  )

  test.each([
    'country\nGermany\nFrance\n',
    'date\nfig\nprune\n',
    'versions\n10.1.20\n3.11.10\n',
    'christmas\n2026-12-25\nwhat is 2026-12-25\n',
    'years\n1984\n2001\n',
    '24/7\n9/11\n',
  ])('is not what %j is: every line of it is searched for', async (text) => {
    expect((await read(text)).texts).toEqual(text.trimEnd().split('\n'))
  })

  test.each(['', '\ufeff', '\n\n', ' \r\n\t\r\n'])(
    'such as %j is refused as empty',
    async (text) => {
      await expect(read(text)).rejects.toThrow('empty file')
    },
  )

  test('but of more blank lines than are looked at is refused as what it is', async () => {
    await expect(read(`${'\n'.repeat(300_000)}keyword\nfoo\n`)).rejects.toThrow(
      'got only blank lines in the first 256 KiB; remove them',
    )
  })

  test('but with a header gives nothing', async () => {
    expect((await read('keyword,volume\n')).usable).toBe(0)
  })
})

describe('line ends', () => {
  test.each(['\n', '\r\n', '\r'])('written as %j end lines', async (end) => {
    const { queries } = await read(['q,gl', 'a,us', '"b\u0020c",de', ''].join(end))
    expect(queries.map(({ line, query }) => [line, query.q, query.gl])).toEqual([
      [2, 'a', 'us'],
      [3, 'b c', 'de'],
    ])
  })

  test('of every kind may be mixed', async () => {
    const { queries } = await read('q,gl\r\na,us\nb,de\rc,fr\r\n"d\r\ne",es\nf,it')
    expect(queries.map(({ line, query }) => [line, query.q])).toEqual([
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
      for await (const piece of list.pieces) expect(piece.queries.length).toBeLessThan(2)
    }
    await expect(drain()).rejects.toThrow(
      /standard input:3: expected lines of a query list, got a line longer than 1 MiB/,
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
