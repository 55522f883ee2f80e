// @module-tag slow
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'
import { odsOf, xlsxOf, zipOf } from '../lists/archives.ts'

/** Returns the output of a dry run for a file. */
async function tried(name: string, bytes: Buffer, flags: readonly string[] = []) {
  const { mill } = await openScene()
  const file = join(mkdtempSync(join(tmpdir(), 'querymill-workbooks-')), name)
  writeFileSync(file, bytes)
  const args = [file, '--dry-run', '--json', ...flags]
  const { code, stdout, stderr } = await run('enqueue', args, mill.env)
  return { code, list: code === 0 ? JSON.parse(stdout).runs[0] : null, stderr }
}

const cell = (text: string, at: string): string =>
  `<c r="${at}" t="inlineStr"><is><t>${text}</t></is></c>`

/** Returns the XML of rows with text cells. */
function rowsOf(...rows: readonly (readonly string[])[]): string {
  return rows
    .map((cells, row) => {
      const marked = cells.map((text, at) => cell(text, `${'ABCD'[at] ?? ''}${row + 1}`))
      return `<row r="${row + 1}">${marked.join('')}</row>`
    })
    .join('')
}

const asked = rowsOf(['Search phrase', 'Volume'], ['red shoes', '10'], ['wool hats', '5'])
const negative = rowsOf(['Keyword'], ['free'], ['cheap'])
const filters = rowsOf(['Filter', 'Value'], ['Search type', 'Web'], ['Date', 'Last 3 months'])
const lands = rowsOf(['Land', 'Klicks'], ['Deutschland', '3'], ['Schweiz', '1'])

describe('several possible tables', () => {
  test('in a workbook are refused with their columns and the flags to use', async () => {
    const book = xlsxOf({ Keywords: asked, 'Negative keywords': negative, Filters: filters }, [])
    const { code, stderr } = await tried('book.xlsx', book)
    expect(code).toBe(2)
    expect(stderr).toContain(
      'got "Keywords" ("Search phrase", "Volume"), "Negative keywords" ("Keyword"); use --sheet "Keywords" or another table\'s name',
    )
    const named = await tried('book.xlsx', book, ['--sheet', 'negative keywords'])
    expect(named.list.sample.first.map(({ q }: { q: string }) => q)).toEqual(['free', 'cheap'])
  })

  test('in an archive are refused if the first of them cannot be read', async () => {
    const archive = zipOf({
      'november.csv': Buffer.from('keyword,volume\ncaf\u00e9 cr\u00e8me,10\nfoo,12\n', 'latin1'),
      'old/january.csv': 'keyword,volume\nboots,10\nhats,12\n',
    })
    const { code, stderr } = await tried('months.zip', archive)
    expect(code).toBe(2)
    expect(stderr).toContain(
      'got "november.csv" ("keyword", "volume"), "old/january.csv" ("keyword", "volume")',
    )
  })
})

describe('--sheet all', () => {
  const shoes = rowsOf(['Keyword', 'Volume'], ['red shoes', '10'], ['wool hats', '5'], ['=A1', '1'])
  const free = rowsOf(['Keyword'], ['free'], ['cheap'], ['=A2'])
  const book = xlsxOf({ 'Red/blue': shoes, Negative: free, Filters: filters }, [])

  test('is suggested if two tables are possible, and makes a list of each', async () => {
    const { mill } = await openScene()
    const folder = mkdtempSync(join(tmpdir(), 'querymill-workbooks-'))
    const file = join(folder, 'book.xlsx')
    writeFileSync(file, book)
    const refused = await run('enqueue', [file, '--dry-run', '--json'], mill.env)
    expect(refused.code).toBe(2)
    const hints = [...refused.stderr.matchAll(/--sheet ("[^"]+"|\w+)/g)].map(([, name]) => name)
    expect(hints).toEqual(['"Red/blue"', 'all'])
    const one = await run('enqueue', [file, '--dry-run', '--json', '--sheet', 'Red/blue'], mill.env)
    expect(JSON.parse(one.stdout).runs[0].sample.first[0].q).toBe('red shoes')
    const { code, stdout } = await run('enqueue', [file, '--json', '--sheet', 'all'], mill.env)
    expect(code).toBe(0)
    const runs: readonly ReportedRun[] = JSON.parse(stdout).runs
    expect(runs.map(({ list, sample }) => [list, sample.first[0]?.q])).toEqual([
      ['book (Red/blue)', 'red shoes'],
      ['book (Negative)', 'free'],
    ])
    expect(runs.map(({ notices }) => notices)).toEqual([
      ['tables not read: "Filters"; choose one with --sheet'],
      [],
    ])
    const { rows } = await sql<{ sheet: string; source: string }>`
      select reading ->> 'sheet' as sheet, source from lists order by id`.execute(mill.db)
    expect(rows).toEqual([
      { sheet: 'Red/blue', source: file },
      { sheet: 'Negative', source: file },
    ])
    const rejected = runs.map(({ rejected_file: path }) => readFileSync(path, 'utf8'))
    expect(rejected).toEqual([expect.stringContaining('=A1'), expect.stringContaining('=A2')])
    expect(runs[1]?.rejected_file).toBe(join(folder, 'book (Negative).rejected.csv'))
  })

  test('reads a table of that name, if there is one', async () => {
    const named = xlsxOf({ All: free, Shoes: shoes }, [])
    const refused = await tried('book.xlsx', named)
    expect(refused.stderr).toContain("or another table's name\n")
    const { list } = await tried('book.xlsx', named, ['--sheet', 'all'])
    expect([list.list, list.sample.first[0].q]).toEqual(['book', 'free'])
    expect(list.notices).toEqual(['tables not read: "Shoes"; choose one with --sheet'])
  })

  test('reads files of the same name in folders of an archive, and a file with one list', async () => {
    const archive = zipOf({ 'a/x.csv': 'keyword\nfree\nred\n', 'x.csv': 'keyword\nhats\nred\n' })
    const { mill } = await openScene()
    const folder = mkdtempSync(join(tmpdir(), 'querymill-workbooks-'))
    const [packed, plain] = [join(folder, 'lists.zip'), join(folder, 'plain.csv')]
    writeFileSync(packed, archive)
    writeFileSync(plain, 'keyword\nboots\n')
    const args = [packed, plain, '--json', '--dry-run', '--sheet', 'all']
    const { stdout } = await run('enqueue', args, mill.env)
    const runs: readonly ReportedRun[] = JSON.parse(stdout).runs
    expect(runs.map(({ list, sample }) => [list, sample.first[0]?.q])).toEqual([
      ['lists (a/x.csv)', 'free'],
      ['lists (x.csv)', 'hats'],
      ['plain', 'boots'],
    ])
  })

  test('queues nothing if a table cannot be read, or if its lists have one name', async () => {
    const unread = await tried('book.xlsx', xlsxOf({ Keywords: asked, Negative: free }, []), [
      ...['--sheet', 'all'],
    ])
    expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining('(Keywords):1')])
    const twins = await tried('book.xlsx', book, ['--sheet', 'all', '--as', 'shoes'])
    expect([twins.code, twins.stderr]).toEqual([
      2,
      expect.stringContaining('got 2 lists; enqueue them'),
    ])
  })
})

interface ReportedRun {
  readonly list: string
  readonly notices: readonly string[]
  readonly sample: { readonly first: readonly { readonly q: string }[] }
  readonly rejected_file: string
}

describe('an archive with a list beside an unreadable file', () => {
  const csv = 'keyword,volume\nboots,10\nhats,12\n'

  test.each([
    ['a workbook', 'more.xlsx', xlsxOf({ Terms: negative }, [])],
    ['an archive', 'more.zip', zipOf({ 'more.csv': csv })],
    ['a tar archive', 'more.tar', Buffer.from('more.csv'.padEnd(257, '\0') + 'ustar'.padEnd(300))],
    ['an old spreadsheet', 'more.xls', Buffer.from('d0cf11e0a1b11ae100', 'hex')],
    ['JSON', 'more.json', Buffer.from('[{"keyword":"free"},{"keyword":"cheap"}]')],
  ])('is refused with both names: %s', async (_, name, bytes) => {
    const archive = zipOf({ [name]: bytes, 'boots.csv': csv })
    const { code, stderr } = await tried('lists.zip', archive)
    expect(code).toBe(2)
    expect(stderr).toContain(
      `got "boots.csv" ("keyword", "volume"), "${name}" (not read); use --sheet "boots.csv"`,
    )
    const named = await tried('lists.zip', archive, ['--sheet', 'boots.csv'])
    expect(named.list.sample.first[0].q).toBe('boots')
    const other = await tried('lists.zip', archive, ['--sheet', name])
    expect([other.code, other.stderr]).toEqual([2, expect.stringContaining(`(${name})`)])
  })

  test.each([
    ['a compressed list', 'more.csv.gz', gzipSync('keyword\nfree\ncheap\n')],
    ['a list without an ending', 'more', Buffer.from('keyword\nfree\ncheap\n')],
    ['a list in a folder of its own', 'a/b/more.tab', Buffer.from('keyword\nfree\ncheap\n')],
    [
      'a list in UTF-16 with an unknown header',
      'more.csv',
      Buffer.concat([
        Buffer.from([0xfe, 0xff]),
        Buffer.from(
          'name,note\nfree shoes,some words\ncheap hats,more words\n',
          'utf16le',
        ).swap16(),
      ]),
    ],
  ])('is refused with the columns of both: %s', async (_, name, bytes) => {
    const archive = zipOf({ [name]: bytes, 'boots.csv': csv })
    const { code, stderr } = await tried('lists.zip', archive)
    expect(code).toBe(2)
    expect(stderr).toContain('"boots.csv" ("keyword", "volume")')
    expect(stderr).toMatch(new RegExp(`"${name}" \\("(?:keyword|name)"`))
  })

  test('is read beside documents and hidden files, which are named, and system files, which are not', async () => {
    const archive = zipOf({
      '__MACOSX/._boots.csv': 'x',
      'boots.csv': csv,
      'README.md': 'Lists of keywords.\nFor the shop.\n',
      'manifest.json': '{"made":"today","by":"us"}',
      '.old/boots.csv': csv,
    })
    const { list } = await tried('lists.zip', archive)
    expect(list.sample.first[0].q).toBe('boots')
    expect(list.notices).toEqual([
      'tables not read: "README.md", "manifest.json", ".old/boots.csv" (hidden); choose one with --sheet',
    ])
    const words = await tried('lists.zip', archive, ['--sheet', '.old/boots.csv'])
    expect(words.list.reading.sheet).toBe('.old/boots.csv')
  })

  test('is not bought in place of the only possible list, which is not read', async () => {
    const archive = zipOf({
      'Countries.csv': 'Country,Clicks\nFrance,1\n',
      'terms.xlsx': xlsxOf({ Terms: negative }, []),
    })
    const { code, stderr } = await tried('lists.zip', archive)
    expect(code).toBe(2)
    expect(stderr).toContain('(terms.xlsx), got an archive or a spreadsheet inside another archive')
  })
})

describe('one possible table', () => {
  test('is read beside others that are not lists, which are named', async () => {
    const book = xlsxOf({ Filter: filters, Länder: lands, Terms: negative }, [])
    const { list } = await tried('book.xlsx', book)
    expect(list.sample.first[0].q).toBe('free')
    expect(list.notices).toEqual(['tables not read: "Filter", "Länder"; choose one with --sheet'])
  })

  test('is read beside a summary and a pivot table, which are named', async () => {
    const pivot = rowsOf(['Row Labels', 'Sum of Volume'], ['shop', '10'], ['Grand Total', '10'])
    const sums = rowsOf(['Best query', 'red shoes'], ['Queries in all', 'two'])
    const list = rowsOf(['Keyword'], ['red shoes'], ['hats'])
    const book = xlsxOf({ Summary: sums, Sheet2: pivot, Keywords: list }, [])
    const { list: read } = await tried('book.xlsx', book)
    expect(read.reading.sheet).toBe('Keywords')
    expect(read.notices).toEqual(['tables not read: "Summary", "Sheet2"; choose one with --sheet'])
  })

  test('is refused by name with its own reason if none of its columns is known', async () => {
    const { code, stderr } = await tried(
      'book.xlsx',
      xlsxOf({ Länder: lands, Keywords: asked }, []),
    )
    expect(code).toBe(2)
    expect(stderr).toContain('book.xlsx (Keywords):1: expected a query column')
  })

  test('is read beside a hidden one, which is named', async () => {
    const book = xlsxOf({ Old: rowsOf(['Keyword'], ['last year']), Terms: negative }, [], {
      hidden: ['Old'],
    })
    const { list } = await tried('book.xlsx', book)
    expect(list.sample.first[0].q).toBe('free')
    expect(list.notices).toEqual(['tables not read: "Old" (hidden); choose one with --sheet'])
    const named = await tried('book.xlsx', book, ['--sheet', 'Old'])
    expect(named.list.sample.first[0].q).toBe('last year')
  })
})

describe('a cell of a workbook', () => {
  test('that is not text is rejected with its reason, and each row is counted', async () => {
    const styles =
      '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="0.00&quot;d&quot;"/></numFmts>' +
      '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
      '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>'
    const sheet = [
      `<row r="1">${cell('Keyword', 'A1')}</row>`,
      '<row r="2"><c r="A2" s="1"><v>46024</v></c></row>',
      '<row r="3"><c r="A3" t="e"><v>#N/A</v></c></row>',
      '<row r="4"><c r="A4"><f>B1&amp;" shoes"</f></c></row>',
      '<row r="5"><c r="A5"><f t="shared" si="0"/></c></row>',
      `<row r="6" hidden="1">${cell('hidden shoes', 'A6')}</row>`,
      `<row r="7">${cell('red_x000D_ shoes', 'A7')}</row>`,
      '<row r="8"><c r="A8" s="2"><v>501</v></c></row>',
      '<row r="9"><c r="A9" t="b"><v>1</v></c></row>',
    ]
    const { list } = await tried('book.xlsx', xlsxOf({ Terms: sheet.join('') }, [], { styles }))
    expect(list.sample.first.map(({ q }: { q: string }) => q)).toEqual(['red shoes', '501', 'TRUE'])
    const reasons = list.reasons.map(({ reason, lines }: { reason: string; lines: number }) => [
      reason,
      lines,
    ])
    expect(Object.fromEntries(reasons)).toEqual({
      'a date instead of a query': 1,
      'a spreadsheet error instead of a query': 1,
      'a formula instead of a query': 2,
      'a hidden row in the spreadsheet': 1,
    })
  })

  test('that is a number is a query as the cell shows it', async () => {
    const styles =
      '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="9"/><xf numFmtId="4"/></cellXfs></styleSheet>'
    const rows = [
      [0, '0.30000000000000004'],
      [1, '501'],
      [2, '0.07'],
      [3, '-1234.5'],
    ].map(
      ([s, value], at) => `<row r="${at + 2}"><c r="A${at + 2}" s="${s}"><v>${value}</v></c></row>`,
    )
    const book = xlsxOf({ Sheet1: rowsOf(['keyword']) + rows.join('') }, [], { styles })
    const { list } = await tried('book.xlsx', book)
    const { first, last } = list.sample
    expect([...first, last].map(({ q }) => q)).toEqual(['0.3', '00501', '7%', '-1234.50'])
  })

  test('that is merged over several columns keeps the rows below it', async () => {
    const sheet = `<row r="1">${cell('Keyword', 'A1')}<c r="B1"/></row>${rowsOf(['x', 'x'], ['red shoes', 'wide'], ['hats', 'wool']).replace(/^.*?<\/row>/, '')}`
    const { list } = await tried('book.xlsx', xlsxOf({ Terms: sheet }, []))
    expect(list.sample.first.map(({ q }: { q: string }) => q)).toEqual(['red shoes', 'hats'])
    expect(list.rejected).toBe(0)
  })
})

describe('an OpenDocument spreadsheet', () => {
  const text = (value: string) =>
    `<table:table-cell office:value-type="string"><text:p>${value}</text:p></table:table-cell>`
  const row = (inside: string, more = '') => `<table:table-row${more}>${inside}</table:table-row>`

  test('has each row counted, and cells that are not text rejected with a reason', async () => {
    const sheet = [
      row(text('Keyword')),
      row(text('red shoes')),
      row(
        '<table:table-cell office:value-type="date" office:date-value="2026-01-02"><text:p>02.01.26</text:p></table:table-cell>',
      ),
      row(
        '<table:table-cell office:value-type="float" office:value="46024" table:style-name="day"><text:p>1/2/26</text:p></table:table-cell>',
      ),
      row(
        '<table:table-cell office:value-type="string" calcext:value-type="error" xmlns:calcext="c"><text:p>Err:502</text:p></table:table-cell>',
      ),
      row('<table:table-cell table:formula="of:=[.B1]"/>'),
      row(text('hidden shoes'), ' table:visibility="collapse"'),
    ]
    const book = odsOf(
      { Old: row(text('Keyword')) + row(text('last year')), Terms: sheet.join('') },
      { hidden: ['Old'] },
    )
    const { list } = await tried('book.ods', book)
    expect(list).toMatchObject({ rows: 6, accepted: 1, rejected: 5 })
    expect(list.sample.first[0].q).toBe('red shoes')
    expect(list.notices).toEqual(['tables not read: "Old" (hidden); choose one with --sheet'])
    const reasons = list.reasons.map(({ reason }: { reason: string }) => reason)
    expect(reasons.toSorted()).toEqual([
      'a date instead of a query',
      'a formula instead of a query',
      'a hidden row in the spreadsheet',
      'a spreadsheet error instead of a query',
    ])
  })

  // As written by LibreOffice.
  test('has repeated rows, several paragraphs, comments, spans and number formats read', async () => {
    const number = (value: string, shown: string, type = 'float') =>
      `<table:table-cell office:value-type="${type}" office:value="${value}"><text:p>${shown}</text:p></table:table-cell>`
    const sheet = [
      row(text('Keyword')),
      row(text('two</text:p><text:p>lines<text:s text:c="3"/>here')),
      row(text('red <text:span>shoes</text:span>'), ' table:number-rows-repeated="3"'),
      row(
        '<table:table-cell table:number-rows-spanned="2"><office:annotation><text:p>a note</text:p></office:annotation><text:p>hats</text:p></table:table-cell>',
      ),
      row('<table:covered-table-cell/>'),
      row(number('501', '00501')),
      row(number('0.5', '50%', 'percentage')),
      row(number('1200', '1.200')),
    ]
    const last = async (rows: number) => {
      const { list } = await tried('b.ods', odsOf({ Terms: sheet.slice(0, rows).join('') }))
      return [list.rows, list.sample.last.q]
    }
    expect(await last(2)).toEqual([1, 'two lines here'])
    expect(await last(3)).toEqual([4, 'red shoes'])
    expect(await last(5)).toEqual([5, 'hats'])
    expect(await last(6)).toEqual([6, '00501'])
    expect(await last(7)).toEqual([7, '50%'])
    expect(await last(8)).toEqual([8, '1200'])
  })

  test('with two possible tables is refused with the flags to use', async () => {
    const list = row(text('Keyword')) + row(text('red shoes'))
    const { code, stderr } = await tried('book.ods', odsOf({ One: list, Two: list }))
    expect(code).toBe(2)
    expect(stderr).toContain('got "One" ("Keyword"), "Two" ("Keyword"); use --sheet "One"')
  })
})

describe('JSON lines', () => {
  test('are read with the fields of a query, and the others are named', async () => {
    const lines = [
      '{"query":"red shoes","weight":3,"tags":["a","b"],"from":{"page":1}}',
      '{"query":"caf\\u00e9, 24\\"","country":"Germany"}',
      '{"query":"hats","country":"Atlantis"}',
      '{"query":null,"weight":1}',
    ]
    const { list } = await tried('list.jsonl', Buffer.from(`${lines.join('\n')}\n`))
    expect(list).toMatchObject({ rows: 4, accepted: 2, rejected: 2 })
    expect(list.sample.first).toMatchObject([
      { q: 'red shoes', gl: null },
      { q: 'café, 24"', gl: 'de' },
    ])
    expect(list.reading).toMatchObject({ header_line: null, ignored: ['from'] })
  })

  test('of strings are read if the file extension says so', async () => {
    const { list } = await tried('list.ndjson', Buffer.from('"caf\\u00e9"\n"24\\" monitor"\n'))
    expect(list.sample.first.map(({ q }: { q: string }) => q)).toEqual(['café', '24" monitor'])
  })
})

describe('an unknown country', () => {
  test('rejects its own line, and the other lines keep their country', async () => {
    const text = 'Keyword,Country\nboots,us\nsandals,Turkey\nhats,Atlantis\n'
    const { list } = await tried('list.csv', Buffer.from(text))
    expect(list.sample.first.map(({ q, gl }: { q: string; gl: string }) => [q, gl])).toEqual([
      ['boots', 'us'],
      ['sandals', 'tr'],
    ])
    expect(list.reasons).toMatchObject([
      { reason: 'gl is not a known country code or name', lines: 1 },
    ])
  })
})

test('a list of unclosed quotes takes at most four times the work of a clean one of its size', async () => {
  const listOf = (quote: string): Buffer =>
    Buffer.from(
      `q,weight\n${Array.from({ length: 20_000 }, (_, at) => `${quote}shoes ${at},1\n`).join('')}last,1\n`,
    )
  const workOf = async (bytes: Buffer): Promise<number> => {
    const before = process.cpuUsage()
    expect((await tried('list.csv', bytes)).code).toBe(0)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  await workOf(Buffer.from('q,weight\nshoes,1\n'))
  const clean = await workOf(listOf('x'))
  expect((await workOf(listOf('"'))) / clean).toBeLessThan(4)
})

describe('a list of one column', () => {
  test.each([
    ...['Keyword Phrase', 'Target keyword', 'Suchphrase', 'Фраза', 'Email', 'SKU'],
    ...['KW', 'kws', 'SEO keywords', '検索ワード', '关键词列表', '키워드 목록'],
  ])('that begins with %j is refused instead of bought with its header', async (name) => {
    const { code, stderr } = await tried('list.csv', Buffer.from(`${name}\nshoes\nwool hats\n`))
    expect(code).toBe(2)
    expect(stderr).toContain(`use --column ${JSON.stringify(name)} if it is the header`)
  })

  test('with whole rows inside quotes is refused', async () => {
    const text = '"keyword;volume"\n"red shoes;10"\n"wool hats;5"\n'
    const { code, stderr } = await tried('list.csv', Buffer.from(text))
    expect(code).toBe(2)
    expect(stderr).toContain('got whole rows inside quotes')
  })
})
