import { describe, expect, test } from 'vitest'
import { read } from './support.ts'

const mark = '\ufeff'

describe('a file put below another one', () => {
  test.each([
    ['Keyword,Volume\nshoes,1\n', 'Keyword,Volume\nboots,2\n'],
    ['"Keyword","Volume"\n"shoes","1"\n', '"Keyword","Volume"\n"boots","2"\n'],
    ['"Keyword"\t"Volume"\n"shoes"\t"1"\n', '"Keyword"\t"Volume"\n"boots"\t"2"\n'],
    ['Keyword,2024,2025\nshoes,1,2\n', 'Keyword,2024,2025\nboots,2,3\n'],
    ['Keyword\nshoes\n', 'Keyword\nboots\n'],
    ['"Keyword"\n"shoes"\n', '"Keyword"\n"boots"\n'],
    ['Keyword\nshoes\n', 'Search term\nboots\n'],
    ['shoes\n', 'Keyword\nboots\n'],
  ])('with its mark, as in %j and %j, gives no query for its header', async (first, second) => {
    const { texts, rejected, headersAgain } = await read(`${mark}${first}${mark}${second}`)
    expect(texts).toEqual(['shoes', 'boots'])
    expect(rejected).toEqual([])
    expect(headersAgain).toEqual([first.split('\n').length])
  })

  test('with its mark and without a header loses no line', async () => {
    const { texts } = await read(`${mark}Keyword,Volume\nshoes,1\n${mark}boots,2\n`)
    expect(texts).toEqual(['shoes', 'boots'])
  })

  test('in UTF-16 with its mark gives no query for its header', async () => {
    const text = `${mark}Keyword\tVolume\nshoes\t1\n${mark}Keyword\tVolume\nboots\t2\n`
    expect((await read(Buffer.from(text, 'utf16le'))).texts).toEqual(['shoes', 'boots'])
  })

  test('is needed for a lone word to be a header: among queries it is one', async () => {
    expect((await read('Keyword\nshoes\nKeyword\nboots\n')).texts).toEqual([
      'shoes',
      'Keyword',
      'boots',
    ])
  })

  test.each([mark, '\n'])('with other columns below %j is read by them', async (between) => {
    const other = `${between}Volume,Keyword\n2,hats\nVolume,Keyword\n3,socks\n`
    const first = `${between}Keyword,Volume\nboots,3\n`
    const { texts, headersAgain } = await read(`Keyword,Volume\nshoes,1\n${other}${first}`)
    expect(texts).toEqual(['shoes', 'hats', 'socks', 'boots'])
    expect(headersAgain).toHaveLength(3)
  })

  test('is read by the column that is named, wherever it stands', async () => {
    const text = 'Phrase,Topic\nred shoes,a\n\nTopic,Phrase\nb,boots\n'
    expect((await read(text, { column: 'Phrase' })).texts).toEqual(['red shoes', 'boots'])
  })

  test.each([undefined, 'Phrase'])(
    'with a header that does not say which column holds queries is refused under --column %s',
    async (column) => {
      const text = 'keyword,Phrase\na,b\n\nKeyword,Query\nc,d\n'
      await expect(read(text, { column })).rejects.toThrow(
        /^list\.csv:4: expected .* in the header of this block too, got "Keyword", "Query"; move the block to a separate file/,
      )
    },
  )
})

describe('a row below a blank line', () => {
  test.each(['boots,keyword', 'boots,query', 'keyword,100', 'term,'])(
    'such as %j stays a row, whatever words it holds',
    async (row) => {
      const text = `keyword,tags\nshoes,brand\n\n${row}\nsandals,brand\nhats,generic\n`
      const { texts, rejected, headersAgain } = await read(text)
      expect(texts).toEqual(['shoes', row.split(',')[0], 'sandals', 'hats'])
      expect(rejected).toEqual([])
      expect(headersAgain).toEqual([])
    },
  )

  test('that may be a header as well is rejected, and the rows below it are read', async () => {
    const { texts, rejected } = await read('Keyword,Volume\nshoes,1\n\nQuery,Clicks\nhats,2\n')
    expect(texts).toEqual(['shoes', 'hats'])
    expect(rejected).toMatchObject([{ line: 4, content: 'Query,Clicks' }])
    expect(rejected[0]?.reason).toContain('a header or a query')
  })
})

describe('what looks like a header below other lines', () => {
  const comma = 'running shoes\nseo, keyword\nboots, cheap\nhats\n'

  test.each([
    [comma, 2],
    ['running shoes\nseo,keyword\nboots,cheap\nhats,red\n', 2],
    ['running shoes\nseo,keyword,a\nboots,cheap,b\nhats\n', 2],
    ['running shoes\nseo, keyword, a\nboots, cheap, b\nhats, red, c\n', 2],
    ['"foo" bar\nseo,keyword\nboots,cheap\n', 2],
    ['foo\n\nkeyword\nbar\n', 3],
    ['foo,a\nbar,b\n\nkeyword,volume\nbaz,1\n', 4],
    ['Report\n\nKeyword\nfoo\n', 3],
  ])('as in %j is refused with the flags that settle it', async (text, line) => {
    await expect(read(text)).rejects.toThrow(
      new RegExp(
        `^list\\.csv:${line}: expected a header on the first line.* below lines that may be queries; use --column "\\w+" if it is the header and the lines are not queries.*, or --delimiter none if each line is one query$`,
      ),
    )
    const lines = text.split('\n').filter((each) => each !== '')
    expect((await read(text, { delimiter: 'none' })).texts).toEqual(lines)
    const named = await read(text, { column: 'keyword' })
    expect(named.heading.dialect.headerLine).toBe(line)
  })

  test('is a row when rows as wide stand above it and its column has a number', async () => {
    const text = 'css grid,100\nkeyword,200\n'
    await expect(read(text)).rejects.toThrow('--column 1 if it is a row like those lines')
    expect((await read(text, { column: '1' })).texts).toEqual(['css grid', 'keyword'])
  })

  test('is no row below rows of numbers and a blank line, and takes none of them away', async () => {
    const { texts, rejected } = await read('css grid,9\n\nkeyword,volume\nfoo,5\n', { column: '1' })
    expect(texts).toEqual(['css grid', 'foo'])
    expect(rejected).toMatchObject([{ line: 3 }])
  })

  test('is refused under a number, too, when it is wider than the lines above it', async () => {
    for (const text of [
      comma,
      'Report\nKeyword,Topic\nshoes,footwear\n',
      'foo\n\nkeyword\nbar\n',
    ]) {
      await expect(read(text, { column: '1' })).rejects.toThrow('that may be queries')
    }
  })

  test.each([
    'Report\nKeyword,Volume\nshoes,10\nboots,\n',
    'May 9, 2026 - June 7, 2026\nKeyword,Volume\nshoes,10\nboots,\n',
    'Report "x" of y\nKeyword,Volume\nshoes,10\nboots,20\n',
    'Report\n\nkeyword,location\nshoes,Paris\nboots,Rome\n',
    'Stats,,,\n"October 1, 2025",,,\nKeyword,Currency,Type,Comp\nshoes,EUR,a,Low\nboots,EUR,a,Low\n',
    'Search query: shoes\nKeyword,Currency,Comp\nshoes,EUR,Low\nboots,EUR,Low\n',
  ])('is the header below a narrow title and above rows that fit it, as in %j', async (text) => {
    expect((await read(text)).texts).toEqual(['shoes', 'boots'])
  })

  test.each(['foo\nbar\ntop\nred shoes,1\nboots,2\n', 'foo\n\ntop\nred shoes, a\nboots, b\n'])(
    'is no title of a block in the middle of a list such as %j',
    async (text) => {
      expect((await read(text)).texts).toEqual(text.split('\n').filter((line) => line !== ''))
    },
  )

  test('is a title of a block as exports write it, even above words', async () => {
    expect((await read('RISING\nleo moon,Breakout\nleo,Breakout\n')).texts).toEqual([
      'leo moon',
      'leo',
    ])
    await expect(read('rising\nred shoes,cheap\nboots,x\n')).rejects.toThrow('--delimiter none')
  })

  test('is no title of a block when it has a number of its own', async () => {
    expect((await read('top,100\nfoo,50\nbar,20\n', { column: '1' })).texts).toContain('top')
    const text = 'TOP\nleo,100\nleo b,50\n\ntop,20\nleo c,10\n'
    expect((await read(text)).texts).toEqual(['leo', 'leo b', 'top', 'leo c'])
  })
})

describe('a column with a number', () => {
  test.each([
    'Phrase,Topic\nred shoes,footwear\nboots,footwear\n',
    'Phrase,2024,2025\nred shoes,100,50\n',
    'Phrase,gl\nred shoes,us\nboots,de\n',
    'css grid,100,low\nflexbox,200,5\n',
    'Report\ncss grid,100,low\nflexbox,200,5\n',
    'keyword,100\ncss grid,200\n',
    'Phrase,Topic\n',
  ])('over a first line that may be a header, as in %j, is refused', async (text) => {
    await expect(read(text, { column: '1' })).rejects.toThrow(
      /which may be a header or a row; use --column "[\w ]+" if it is the header, or --no-header --column 1 if it is a row$/,
    )
  })

  test('is read once the flag or the header that the message names is there', async () => {
    const text = 'Phrase,Topic\nred shoes,footwear\nboots,garden\n'
    expect((await read(text, { column: 'Phrase' })).texts).toEqual(['red shoes', 'boots'])
    const all = await read(text, { header: false, column: '1' })
    expect(all.texts).toEqual(['Phrase', 'red shoes', 'boots'])
  })

  test.each([
    'red shoes,100,0.5\nboots,200,0.1\n',
    'red shoes,100,n/a\nboots,200,0.1\n',
    'red shoes,\nboots,100\n',
    'red shoes,footwear\nboots,footwear\n',
    'red shoes,us\nboots,de\n',
  ])('reads a first line that is clearly a row, as in %j', async (text) => {
    expect((await read(text, { column: '1' })).texts).toEqual(['red shoes', 'boots'])
  })

  test.each([
    'Phrase,Volume\nred shoes,100\nboots,200\n',
    'Keyword,Topic\nred shoes,footwear\nboots,footwear\n',
    'Report\nPhrase,Volume\nred shoes,100\nboots,200\n',
    'Report\nPhrase,Land,Volume\nred shoes,de,100\nboots,de,200\n',
  ])('leaves a header out that cannot be a row, as in %j', async (text) => {
    expect((await read(text, { column: '1' })).texts).toEqual(['red shoes', 'boots'])
  })
})
