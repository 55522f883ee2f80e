import { describe, expect, test } from 'vitest'
import { read, utf16be } from './support.ts'

const planner = [
  'Keyword Stats 2026-11-11 at 23_10_18',
  '"October 1, 2025 - September 30, 2026"',
  'Keyword\tCurrency\tAvg. monthly searches\tThree month change\tCompetition',
  'leather sofa\tEUR\t500\t0%\tHigh',
  '"sofa, corner"\tEUR\t\t -- \tLow',
  'sofa "chesterfield"\tEUR\t50\t∞\tLow',
  '',
].join('\n')

describe('an export of a keyword planner', () => {
  test('in UTF-16 with its mark, tabs and two lines before the header is read without any flag', async () => {
    const marked = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(planner, 'utf16le')])
    const { texts, rejected, heading } = await read(marked)
    expect(texts).toEqual(['leather sofa', 'sofa, corner', 'sofa "chesterfield"'])
    expect(rejected).toEqual([])
    expect(heading.dialect).toMatchObject({ delimiter: '\t', headerLine: 3 })
  })

  test.each([
    ['UTF-16LE', Buffer.from(planner, 'utf16le'), 'utf-16le'],
    ['UTF-16BE', utf16be(planner), 'utf-16be'],
  ])('in %s without its mark is read as what it is', async (_, bytes, label) => {
    const { texts, heading } = await read(bytes)
    expect(texts).toEqual(['leather sofa', 'sofa, corner', 'sofa "chesterfield"'])
    expect(heading.encoding).toMatchObject({ label, how: 'proven' })
  })

  test('in UTF-16BE with its mark is read as what it is', async () => {
    const bytes = Buffer.concat([Buffer.from([0xfe, 0xff]), utf16be(planner)])
    expect((await read(bytes)).texts).toHaveLength(3)
  })

  test('in Chinese and UTF-16 without its mark is read as what it is', async () => {
    const text = '关键词\t搜索量\n上海 天气\t500\n北京 上海 高铁\t50\n'
    expect((await read(Buffer.from(text, 'utf16le'))).texts).toEqual([
      '上海 天气',
      '北京 上海 高铁',
    ])
  })

  test('saved again by a spreadsheet is read with the mark of UTF-8 and CRLF', async () => {
    const { texts } = await read('\ufeffKeyword,Currency\r\nsofa,EUR\r\n"bed, large",EUR\r\n')
    expect(texts).toEqual(['sofa', 'bed, large'])
  })

  test('that repeats its header where two were joined gives no query for it', async () => {
    const text = 'Keyword\tVolume\na\t1\nKeyword\tVolume\nb\t2\n'
    const { texts, headersAgain } = await read(text)
    expect(texts).toEqual(['a', 'b'])
    expect(headersAgain).toEqual([3])
  })
})

describe('an export of a search console', () => {
  test('gives queries that are wrapped inside their cells once and whole', async () => {
    const text =
      'Top queries,Clicks,Impressions,CTR,Position\n' +
      '"site:pages.dev ""クーポン"" -site:amazon.com \n-site:rakuten.co.jp",3,40,3.7%,3.63\n' +
      'plain,1,2,3%,4'
    const { queries } = await read(text)
    expect(queries.map(({ line, query }) => [line, query.q])).toEqual([
      [2, 'site:pages.dev "クーポン" -site:amazon.com -site:rakuten.co.jp'],
      [4, 'plain'],
    ])
  })

  test.each([
    'Requêtes les plus fréquentes',
    '上位のクエリ',
    'Häufigste Suchanfragen',
    'Consultas principales',
    'Query principali',
    'Populairste zoekopdrachten',
    'Najpopularniejsze zapytania',
    'En popüler sorgular',
    'Nejčastější dotazy',
    'Vanligaste sökfrågorna',
    '인기 검색어',
    '热门查询',
    'Поисковый запрос',
  ])('with the header %s has its column of queries', async (name) => {
    expect((await read(`${name},Clicks\nx y,1\n`)).texts).toEqual(['x y'])
  })

  test.each(['Country,Clicks\nFrance,3\n', 'Les 3\u00a0derniers mois,Clics\nx,1\n'])(
    'of something else than queries is refused with its header',
    async (text) => {
      await expect(read(text)).rejects.toThrow(/expected a query column .* --column/)
    },
  )
})

describe('an export of a trend service', () => {
  test('has its two blocks read and their titles left out', async () => {
    const text =
      'Category: All categories\n\n"leo: (11/5/23, 5:50\u202fPM)"\n\nTOP\nleo zodiac,100\nleo sign,50\n\n' +
      'RISING\nleo moon,+450%\nleo rising,Breakout\n'
    const { texts, rejected, headersAgain } = await read(text)
    expect(texts).toEqual(['leo zodiac', 'leo sign', 'leo moon', 'leo rising'])
    expect(rejected).toEqual([])
    expect(headersAgain).toEqual([9])
  })

  test('saved again with semicolons is read', async () => {
    expect((await read('TOP;Jumlah\r\nleo;100\r\nleo b;20\r\n')).texts).toEqual(['leo', 'leo b'])
  })

  test('of a time line is refused', async () => {
    const text =
      'Category: All categories\n\nWeek,"""Allianz"": (Italia)"\n2026-01-01,<1\n2026-01-08,5\n'
    await expect(read(text)).rejects.toThrow('expected a query column')
  })
})

describe('an export of an advertising account', () => {
  const report =
    'Zoekwoordrapport\n9 mei 2026 - 7 juni 2026\nStatus,Zoekwoord,Conv.waarde/\u00adkosten\n' +
    'Aan,bank,"5,76"\nAan,"""stoel hout""","0,00"\nAan,[tafel],1\nAan, +eiken +kast,1\nTotaal: account, --,"5,76"\nTotaal: campagnes,,"5,76"\n'

  test('has its footer rejected line by line and its match types kept', async () => {
    const { texts, rejected } = await read(report)
    expect(texts).toEqual(['bank', '"stoel hout"', '[tafel]', '+eiken +kast'])
    expect(rejected.map(({ line, reason }) => [line, reason])).toEqual([
      [8, 'no query'],
      [9, 'no query'],
    ])
  })

  test('loses its match types when that is asked for', async () => {
    const { texts, queries } = await read(report, { matchTypes: 'strip' })
    expect(texts).toEqual(['bank', 'stoel hout', 'tafel', 'eiken kast'])
    expect(queries[1]?.given).toBe('"stoel hout"')
  })
})

describe('an export of a ranking tool', () => {
  test('with a number column, a parent keyword and dates for headers is read', async () => {
    const text = '#,Keyword,Parent Keyword,Dynamics,Dynamics\n1,a,x,1,2\n2,"b; c",y,1,2\n'
    const { texts, heading } = await read(text)
    expect(texts).toEqual(['a', 'b; c'])
    expect(heading.dialect.columns.ignored).toEqual(['#', 'Parent Keyword', 'Dynamics'])
  })

  test('in UTF-16 with tabs and every cell quoted is read', async () => {
    const text = '"#"\t"Keyword"\t"Volume"\n"1"\t"a, b"\t"10"\n"2"\t"c"\t"20"\n'
    expect((await read(Buffer.from(`\ufeff${text}`, 'utf16le'))).texts).toEqual(['a, b', 'c'])
  })

  test('with semicolons and commas inside cells is read by its semicolons', async () => {
    const { texts } = await read('\ufeffKeyword;Volume\nbuty, zimowe;10\nkozaki;20\n')
    expect(texts).toEqual(['buty, zimowe', 'kozaki'])
  })

  test('below a block of settings with blank lines is read', async () => {
    const text =
      '# -----\nKey,Value\nEngine,google\n# -----\n  \n Keyword,Min Volume,Max Volume\na,1,2\nb,3,4\n\n'
    expect((await read(text)).texts).toEqual(['a', 'b'])
  })

  test('of addresses is refused', async () => {
    await expect(read('Address,Status Code\nhttps://a.example/,200\n')).rejects.toThrow('"Address"')
    await expect(read('Address\nhttps://a.example/\nhttps://b.example/\n')).rejects.toThrow(
      'Address',
    )
  })
})

describe('a plain list', () => {
  test('without a header gives one query per line, with its commas and quotes', async () => {
    const { texts, heading } = await read(
      'foo bar\nhello, world\n"quoted"\nsite:x "y z"\n\n"half" open\nlast',
    )
    expect(texts).toEqual([
      'foo bar',
      'hello, world',
      'quoted',
      'site:x "y z"',
      '"half" open',
      'last',
    ])
    expect(heading.dialect).toMatchObject({ delimiter: null, headerLine: null })
  })

  test('under the header q keeps what looks like another column', async () => {
    expect((await read('q\nhello, world\n')).texts).toEqual(['hello, world'])
  })

  test('that may as well be two columns is refused until somebody says', async () => {
    const text = 'foo,us\nbar,de\nbaz,fr\n'
    await expect(read(text)).rejects.toThrow('expected a query column')
    expect((await read(text, { delimiter: 'none' })).texts).toEqual(['foo,us', 'bar,de', 'baz,fr'])
    expect((await read(text, { column: '1' })).texts).toEqual(['foo', 'bar', 'baz'])
  })

  test('under a header of one cell, with rows of two, is refused until somebody says', async () => {
    const text = 'keyword\nfoo;1\nbar;2\nbaz;3\n'
    await expect(read(text)).rejects.toThrow('--delimiter none')
    expect((await read(text, { delimiter: 'none' })).texts).toEqual(['foo;1', 'bar;2', 'baz;3'])
  })
})
