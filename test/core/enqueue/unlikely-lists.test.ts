// @module-tag slow
// Files whose lines are not queries. The command buys nothing from them without a message.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

/** Enqueues one file with different flags, as dry runs. */
async function tryFile(text: string, ...typed: readonly (readonly string[])[]) {
  const { mill } = await openScene()
  const file = join(mkdtempSync(join(tmpdir(), 'querymill-unlikely-')), 'list.csv')
  writeFileSync(file, text)
  const found = []
  for (const flags of typed) {
    const { code, stdout, stderr } = await run(
      'enqueue',
      [file, '--dry-run', '--json', ...flags],
      mill.env,
    )
    const list = code === 0 ? JSON.parse(stdout).runs[0] : null
    const queries = list?.sample.first.map(({ q }: { q: string }) => q) ?? null
    found.push({ code, stderr, list, queries })
  }
  return found
}

describe('a file that is refused', () => {
  test.each([
    ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n'],
    ['a diff', 'diff --git a/l b/l\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-shoes\n+boots\n'],
    ['a diff', '@@ -1,2 +1,2 @@\n shoes\n-boots\n+hats\n'],
    ['merge conflict markers', 'shoes\n<<<<<<< HEAD\nboots\n=======\nhats\n>>>>>>> b\n'],
    [
      'a server log',
      '10.0.0.1 - - [1/Oct/2026] "GET /a HTTP/1.1" 200 1\n10.0.0.2 - - [1/Oct/2026] "GET /b HTTP/1.1" 200 1\n',
    ],
    ['email addresses, which are personal data', 'ann@mail.example\nbob@mail.example\nshoes\n'],
    ['prices', '€12.50\n€9.99\n€100\n'],
    ['article numbers', 'SKU-1234-01\nSKU-1235-01\nSKU-1236-01\n'],
    ['article numbers', '12.00\n13.50\n9.99\n'],
    ['article numbers', '030 1234567\n030 7654321\n555-123-4567\n'],
    ['rows inside quotes', '"keyword;volume"\n"red shoes;1"\n"wool; hats;5"\n"boots;5"\n'],
    ['rows inside quotes', '"red shoes;10;2"\n"wool hats;5;1"\n"boots;5;1"\n'],
    ['host names', 'www.shoes.com\nhats.org\nshop.wool.de\nboots.co.uk/sale\n'],
    ['telephone numbers', '+49 30 1234567\n+49 40 7654321\n+49 89 1112223\n'],
    ['IP addresses', '10.0.0.1\n10.0.0.2\n10.0.0.3\n'],
    [
      'article numbers, hashes',
      `${'4d7a2146'.repeat(5)}\n${'4d7a2147'.repeat(5)}\n${'4d7a2148'.repeat(5)}\n`,
    ],
    ['characters broken by a wrong encoding', 'schuhe grÃ¶ÃŸe\njacke\n'],
  ])('is named: %s', async (name, text) => {
    const [found] = await tryFile(text, [])
    expect(found).toMatchObject({ code: 2, stderr: expect.stringContaining(name) })
  })

  test.each([
    ['MD5', '5d41402abc4b2a76b9719d911017c592'],
    ['SHA-256', '4d7a2146'.repeat(8)],
    ['UUIDs', '0a5ae2e9-7ba8-4b0a-9b6e-3f4c9f0c1b7d'],
  ])('is named, however short it is: %s', async (name, hash) => {
    const two = `${hash}\n${hash.replace('4', '5')}\n`
    for (const text of [two, `${name} of the files\n${two}`]) {
      const [found, read] = await tryFile(text, [], ['--delimiter', 'none'])
      expect(found?.stderr).toContain('got text that seems to be article numbers, hashes')
      expect(found?.code).toBe(2)
      expect(read?.code).toBe(0)
    }
  })
})

describe('lines with more than their query', () => {
  test.each(['1. ', '1) ', '1:', '• ', '- '])(
    'such as %j are refused, and --numbering strip buys the queries',
    async (mark) => {
      const text = ['red shoes', 'hats', 'wool'].map(
        (q, at) => `${mark.replace('1', String(at + 1))}${q}\n`,
      )
      const [plain, stripped] = await tryFile(text.join(''), [], ['--numbering', 'strip'])
      expect(plain?.stderr).toContain('use --numbering strip')
      expect(stripped?.queries).toEqual(['red shoes', 'hats', 'wool'])
    },
  )

  test('such as topic numbers, some of which are missing, are refused', async () => {
    const text = '301:red shoes\n305:wool hats\n309:2026 calendar\n312:boots\n'
    const [plain, read] = await tryFile(text, [], ['--numbering', 'strip'])
    expect(plain).toMatchObject({ code: 2, stderr: expect.stringContaining('--numbering strip') })
    expect(read?.queries).toEqual(['red shoes', 'wool hats', '2026 calendar'])
    const [sizes] = await tryFile('1.5 ton jack\n2.5 ton jack\n4.5 ton jack\n9.5 ton jack\n', [])
    expect(sizes?.code).toBe(0)
  })

  test('such as comments are refused, and skipped on request', async () => {
    const [joined] = await tryFile('red shoes\n//more\nhats\n', [])
    expect(joined?.stderr).toContain('got "//more", which may be a comment')
    const text = '# spring\nred shoes\n// more\nhats\n'
    const [plain, skipped] = await tryFile(text, [], ['--comments', 'skip'])
    expect(plain?.stderr).toContain('got "# spring", which may be a comment; use --comments skip')
    expect(skipped).toMatchObject({ queries: ['red shoes', 'hats'], list: { rejected: 2 } })
  })
})

test('a hashtag is a query, even if comments are skipped', async () => {
  const tags = '#spring\nred shoes\n#summer\n'
  for (const found of await tryFile(tags, [], ['--comments', 'keep'], ['--comments', 'skip']))
    expect(found.queries).toEqual(['#spring', 'red shoes', '#summer'])
})

test('a query column with other content is bought with a notice', async () => {
  const [hosts] = await tryFile('keyword\nshoes.com\nhats.org\nwool.de\n', [])
  expect(hosts?.list.notices).toEqual(['the queries seem to be host names, such as "shoes.com"'])
  const [prices] = await tryFile('keyword,clicks\n€1,1\n€2,3\n€3,4\n', [])
  expect(prices?.list.notices).toEqual(['the queries seem to be prices, such as "€1"'])
  const [frameworks] = await tryFile('node.js\nvue.js\nnext.js\n', [])
  expect(frameworks).toMatchObject({ code: 0, list: { notices: [] } })
})

describe('a table', () => {
  test('without names is refused with the column of its queries and its delimiter', async () => {
    const [german, read] = await tryFile(
      'schuhe kaufen;1200;1\nrote hüte;90;2\n',
      [],
      ['--no-header', '--column', '1'],
    )
    expect(german?.stderr).toContain('use --no-header --column 1')
    expect(german?.stderr).not.toContain('--delimiter comma')
    expect(read?.queries).toEqual(['schuhe kaufen', 'rote hüte'])
    const [topics] = await tryFile('WT09-01\tobama family tree\nWT09-02\tfrench lick resort\n', [])
    expect(topics?.stderr).toContain('--no-header --column 2')
  })

  test('whose column "place" holds ranks and whose column "num" counts its rows uses neither', async () => {
    const rows = Array.from({ length: 5 }, (_, at) => `${at + 1},shoes ${at},${at + 3}\n`)
    const [found] = await tryFile(`num,keyword,place\n${rows.join('')}`, [])
    expect(found?.list.sample.first[0]).toMatchObject({ location: null, num: 10 })
    expect(found?.list.notices).toEqual([
      'the column "num" is ignored: its numbers are row numbers',
      'the column "place" is ignored: "3" is not a place name',
    ])
  })

  test('of places rejects lines whose place is a number, unless the column was mapped', async () => {
    const text = 'keyword,place\nshoes,Berlin\nhats,Paris\nwool,7\nboots,-\n'
    const [plain, mapped] = await tryFile(text, [], ['--map', 'place=location'])
    expect(plain?.list).toMatchObject({
      reasons: [{ reason: 'location is a number instead of a name', lines: 1 }],
      sample: { last: { q: 'boots', location: null } },
    })
    expect(mapped?.list.sample.first[2]).toMatchObject({ q: 'wool', location: '7' })
  })

  test('whose column "Land" holds countries says that it is not read', async () => {
    const [found] = await tryFile('Keyword;Land\nshoes;Türkei\nhats;Italien\n', [])
    expect(found?.list.notices.join()).toContain('the column "Land" is not read')
  })

  test('of two rows has no numbers of results if its column "num" counts them', async () => {
    const [two, one] = [
      await tryFile('num,keyword\n1,shoes\n2,hats\n', []),
      await tryFile('num,keyword\n1,shoes\n', []),
    ].map(([found]) => found?.list.sample.first.map(({ num }: { num: number }) => num))
    expect(two).toEqual([10, 10])
    expect(one).toEqual([1])
  })

  test.each([
    ['labels', 'Column1,Column2\nred shoes,low\nwool hats,low\nblue boots,high\n', 'Column2'],
    ['people', 'name,email\nAnn,ann@mail.example\nBob,bob@mail.example\n', '--no-header'],
    ['numbers of rows', '301,red shoes\n302,wool hats\n303,boots\n', '--delimiter none'],
    ['ids and the word "q"', 'A-01\tred shoes\tq\nA-02\twool hats\tq\nA-03\tboots\tq\n', '"q" if'],
  ])(
    'of queries and %s suggests no column or flag that would buy others',
    async (_, text, never) => {
      const [found] = await tryFile(text, [])
      expect(found?.code).toBe(2)
      expect(found?.stderr.replace(/got the (?:row|first line) [^;]*/, '')).not.toContain(never)
    },
  )

  test('whose rows all have the word "q" is read from its first row on', async () => {
    const text = 'WT-01\tred shoes\tq\nWT-02\twool hats\tq\nWT-03\tboots\tq\n'
    const [plain, ...typed] = await tryFile(
      text,
      [],
      ['--no-header', '--column', '2'],
      ['--column', '2'],
    )
    expect(plain?.stderr).toContain('use --no-header --column 2')
    for (const found of typed) expect(found.queries).toEqual(['red shoes', 'wool hats', 'boots'])
  })

  test('that repeats each query for each device is refused until the user decides', async () => {
    const text =
      'Keyword,Device,Clicks\nshoes,Computers,3\nshoes,Mobile phones,4\nshoes,Tablets,1\n'
    const [plain, once, each] = await tryFile(
      text,
      [],
      ['--map', 'Device=none'],
      ['--map', 'Device=device'],
    )
    expect(plain?.stderr).toContain('use --map "Device=none" to ask each query once')
    expect([once?.list.tasks, each?.list.tasks]).toEqual([1, 3])
  })

  test('has its totals rejected, including one called "Grand Total"', async () => {
    const [found] = await tryFile(
      'Keyword,Clicks,Impr.\nshoes,1,2\ntotal recall,1,2\nGrand Total,2,4\n',
      [],
    )
    expect(found?.queries).toEqual(['shoes', 'total recall'])
    const reasons = [{ reason: 'a total of the lines above, not a query', lines: 1 }]
    expect(found?.list.reasons).toEqual(reasons)
    const [narrow] = await tryFile('Keyword,Clicks\nshoes,1\nTotal recall,1\nGrand Total,2\n', [])
    expect(narrow).toMatchObject({ queries: ['shoes', 'Total recall'], list: { reasons } })
    const [single] = await tryFile('keyword\nshoes\nTotal\ngrand total\nGrand Total\n', [])
    expect(single).toMatchObject({ queries: ['shoes', 'Total', 'grand total'], list: { reasons } })
    const [tagged] = await tryFile('keyword,tags\nTotal,gas stations\n', [])
    expect(tagged?.queries).toEqual(['Total'])
  })
})
