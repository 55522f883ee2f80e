// @module-tag slow
import { describe, expect, test } from 'vitest'
import { openList } from '../../../src/core/lists/read.ts'
import { openStream } from '../../../src/core/lists/source.ts'
import { options, read } from './support.ts'

describe('a column of priorities or weights', () => {
  test.each([
    ['Keyword,Priority\nshoes,84\nhats,91\nboots,40\n', 'the column "Priority" is ignored: "84"'],
    ['q,weight\nshoes,heavy\nhats,light\n', 'the column "weight" is ignored: "heavy"'],
  ])('that means something else, as in %j, costs no query and is named', async (text, notice) => {
    const { usable, rejected, notices, queries } = await read(text)
    expect(rejected).toEqual([])
    expect(usable).toBe(text.trimEnd().split('\n').length - 1)
    expect(notices[0]).toContain(notice)
    expect(queries[0]).toMatchObject({ priority: 5, weight: null, query: { device: null } })
  })

  test('is read in the words of tools and people', async () => {
    const { queries } = await read(
      'q,priority,device\na,high,Computers\nb,Low,smartphone\nc,,Mobile phones with full browsers\nd,--,Tablets\n',
    )
    expect(queries.map(({ priority, query }) => [priority, query.device])).toEqual([
      [2, 'desktop'],
      [8, 'mobile'],
      [5, 'mobile'],
      [5, 'tablet'],
    ])
  })
})

describe('numbers', () => {
  test.each([
    ['q,weight\na,"1,200"\nb,590\n', [1200, 590]],
    ['q;weight\na;1.200\nb;590\n', [1200, 590]],
    ['q,weight\na,"1,200"\nb,"5,75"\n', [1.2, 5.75]],
    ['q;weight\na;1,5\nb;0,125\n', [1.5, 0.125]],
    ['q,weight\na,1.200\nb,0.5\n', [1.2, 0.5]],
    ['q,weight\na,"1,234,567"\nb,"12,500.5"\n', [1_234_567, 12_500.5]],
    ['q;weight\na;1.234.567\nb;12.500,5\n', [1_234_567, 12_500.5]],
    ['q,weight\na,1 200\nb,$590\n', [1200, 590]],
    ['q,Volume\na,"1,300"\nb,-\nc,n/a\nd, --\n', [1300, null, null, null]],
  ])('of a whole column decide how each of them is read: %j', async (text, weights) => {
    const { queries, rejected } = await read(text)
    expect(rejected).toEqual([])
    expect(queries.map(({ weight }) => weight)).toEqual(weights)
  })

  test.each(['q,weight\na,1.200\nb,3.400\n', 'q,weight\na,"1,200"\nb,3400\n'])(
    'that may be read in two ways, as in %j, are left out with what to type',
    async (text) => {
      const { queries, notices } = await read(text)
      expect(queries.map(({ weight }) => weight)).toEqual([null, null])
      expect(notices[0]).toContain('--decimal point or --decimal comma')
      const pointed = await read(text, { decimal: '.' })
      expect(pointed.notices).toEqual([])
      expect(pointed.queries[1]?.weight).toBe(text.includes('"') ? 3400 : 3.4)
    },
  )

  test('far down that say otherwise than the beginning have the list read again', async () => {
    const rows = Array.from({ length: 40_000 }, (_, index) => `word ${index},"1,200"`)
    const text = `q,weight\n${rows.join('\n')}\nlast,"1,2"\n`
    const { queries } = await read(text)
    expect(queries[0]?.weight).toBe(1.2)
    expect(queries).toHaveLength(40_001)
  })

  test('of a stream are known to say otherwise once it is through', async () => {
    const rows = Array.from({ length: 40_000 }, (_, index) => `word ${index},"1,200"`)
    const text = Buffer.from(`q,weight\n${rows.join('\n')}\nlast,"1,2"\n`)
    const list = await openList(openStream([text] as unknown as AsyncIterable<unknown>), options)
    for await (const _ of list.pieces) continue
    expect(list.again()?.decimals.get(1)).toBe(',')
  })
})

describe('the columns of known tools', () => {
  test('give weight, cost of a click and difficulty', async () => {
    const text =
      'Keyword,Global volume,Volume,CPC (USD),Keyword Difficulty\nshoes,9,100,1.25,41\nhats,8,n/a,,n/a\n'
    const { queries, heading } = await read(text)
    expect(queries.map(({ weight, cpc, difficulty }) => [weight, cpc, difficulty])).toEqual([
      [100, 1.25, 41],
      [null, null, null],
    ])
    expect(heading.dialect.columns.ignored).toEqual(['Global volume'])
    const off = await read(text, { map: [{ column: 'Volume', role: null }] })
    expect(off.queries[0]?.weight).toBe(null)
    const global = await read(text, { map: [{ column: 'Global volume', role: 'weight' }] })
    expect(global.queries[0]?.weight).toBe(9)
  })

  test.each(['Keyword Difficulty', 'KD %', 'Difficulty', 'SEO Difficulty', 'Search Difficulty'])(
    'give the difficulty that a tool calls %j',
    async (name) => {
      const { queries } = await read(`Keyword,Paid Difficulty,${name}\nshoes,12,61\n`)
      expect(queries.map(({ difficulty }) => difficulty)).toEqual([61])
    },
  )

  test('named country and language are read when all their values are known', async () => {
    const text =
      'Keyword,Country,Language\nshoes,us,English\nshoes,Deutschland,de\nhats,United Kingdom,pt-BR\nboots,,\n'
    const { queries } = await read(text)
    expect(queries.map(({ query }) => [query.q, query.gl, query.hl])).toEqual([
      ['shoes', 'us', 'en'],
      ['shoes', 'de', 'de'],
      ['hats', 'gb', 'pt-BR'],
      ['boots', null, null],
    ])
  })

  test('named country and language take names in other languages, codes of three letters and old codes', async () => {
    const text =
      'Keyword,Country,Language\na,Turkey,iw\nb,Macau,tl\nc,Macedonia,fil\nd,Palestine,Chinese (Simplified)\ne,TUR,ger\nf,Allemagne,Portuguese (Brazil)\ng,-,\n'
    const { queries, rejected } = await read(text)
    expect(rejected).toEqual([])
    expect(queries.map(({ query }) => [query.gl, query.hl])).toEqual([
      ['tr', 'he'],
      ['mo', 'fil'],
      ['mk', 'fil'],
      ['ps', 'zh-CN'],
      ['tr', 'de'],
      ['de', 'pt-BR'],
      [null, null],
    ])
  })

  test('named country, language or device lose the line whose value is unknown, never the others', async () => {
    const { queries, notices, rejected } = await read(
      'Keyword,Country,Language,device\nshoes,us,,mobile\nhats,Worldwide,,\nboots,,Python,\nsocks,,,TV\n',
    )
    expect(queries.map(({ query }) => [query.q, query.gl, query.device])).toEqual([
      ['shoes', 'us', 'mobile'],
    ])
    expect(rejected.map(({ line, reason }) => [line, reason])).toEqual([
      [3, 'gl is not a known country code or name'],
      [4, 'hl is not a known language code or name'],
      [5, 'device is not one of desktop, mobile, tablet'],
    ])
    expect(notices).toEqual([])
  })

  test.each(['Locale', 'Market'])('that are not read are warned about: %s', async (name) => {
    const { notices } = await read(`Keyword,${name}\nshoes,us\nhats,de\n`)
    expect(notices[0]).toContain(
      `the column "${name}" is not read; if it affects the query, map it, for example with --map "${name}=gl"`,
    )
  })
})

describe('a column that a person gives a meaning', () => {
  test('is read as that, by its name or number', async () => {
    const text = 'Phrase,Market,Searches,Label\nshoes,us,1200,a\nhats,de,30,b\n'
    const map = [
      { column: 'Market', role: 'gl' },
      { column: '3', role: 'weight' },
      { column: 'label', role: 'tags' },
    ] as const
    const { queries, rejected } = await read(text, { column: 'Phrase', map })
    expect(rejected).toEqual([])
    expect(queries.map(({ query, weight, tags }) => [query.gl, weight, tags])).toEqual([
      ['us', 1200, ['a']],
      ['de', 30, ['b']],
    ])
    const bare = await read('shoes,us\nhats,de\n', {
      header: false,
      column: '1',
      map: [{ column: '2', role: 'gl' }],
    })
    expect(bare.queries.map(({ query }) => query.gl)).toEqual(['us', 'de'])
  })

  test('rejects the line whose value is none, and is refused when it is not there', async () => {
    const text = 'Keyword,Market\nshoes,us\nhats,everywhere\n'
    const { rejected } = await read(text, { map: [{ column: 'Market', role: 'gl' }] })
    expect(rejected).toMatchObject([{ line: 3, content: 'hats,everywhere' }])
    await expect(read(text, { map: [{ column: 'Land', role: 'gl' }] })).rejects.toThrow(
      'expected a column "Land" in list.csv, got "Keyword", "Market"',
    )
  })

  test('may be nothing at all', async () => {
    const text = 'Keyword,Country\nshoes,us\n'
    const { queries } = await read(text, { map: [{ column: 'Country', role: null }] })
    expect(queries[0]?.query.gl).toBe(null)
  })
})

describe('a row', () => {
  test('that ends a report with its total is rejected', async () => {
    const text =
      'Search term,Clicks,Cost\nshoes,1,2\nTotal: Search terms,1,2\n"Total: Account",3,4\nGesamt: Konto,1,2\ntotal recall,1,1\n'
    const { texts, rejected } = await read(text)
    expect(texts).toEqual(['shoes', 'total recall'])
    expect(rejected.map(({ reason }) => reason)).toEqual(
      Array(3).fill('a total of the lines above, not a query'),
    )
  })

  test('with quotes inside a cell is read as it stands', async () => {
    const text =
      'q,n\n24" monitor,100\nwho wrote "Happy Days",40\n"a, b",5\n"c",12" pizza\n"d" e,1\nf "g,2\n'
    const { texts, rejected } = await read(text)
    expect(texts).toEqual(['24" monitor', 'who wrote "Happy Days"', 'a, b', 'c', 'f "g'])
    expect(rejected).toMatchObject([{ line: 6, reason: 'a stray quote', content: '"d" e,1' }])
  })

  test('that is rejected is kept as it stood', async () => {
    const text = 'q;num;tags\n"a ""b""";0;"x;y"\n"wrapped\nquery";999;z\n'
    const { rejected } = await read(text)
    expect(rejected.map(({ content }) => content)).toEqual([
      '"a ""b""";0;"x;y"',
      '"wrapped\nquery";999;z',
    ])
  })

  test('with a formula is read when a person wants it so', async () => {
    const text = 'q,gl\n=SUM(A1:A3),us\n'
    expect((await read(text)).rejected).toMatchObject([{ reason: 'a formula instead of a query' }])
    expect((await read(text, { formulas: 'keep' })).texts).toEqual(['=SUM(A1:A3)'])
  })
})
