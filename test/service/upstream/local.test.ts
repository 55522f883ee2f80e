// @module-tag slow
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { parse } from 'csv-parse/sync'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seeded } from '../../../src/base/random.ts'
import { root } from '../../../src/base/root.ts'
import {
  addDocuments,
  loadShipped,
  readLines,
  shippedFile,
} from '../../../src/service/corpus/load.ts'
import { openTables, type Tables } from '../../../src/service/database.ts'
import { enoughOf, type KnownTerm } from '../../../src/service/upstream/terms.ts'
import { emptyUrl, freshUrl } from '../../support/database.ts'
import { openShop, type Reply, type Shop } from '../shop.ts'

let shop: Shop
let tables: Tables
let live: string

beforeAll(async () => {
  shop = await openShop({ upstream: 'local', databaseUrl: await freshUrl() })
  tables = await openTables(shop.databaseUrl, 2)
  live = await shop.live(1_000_000)
})
afterAll(async () => {
  await tables.pool.end()
  await shop.service.close()
})

async function search(q: string, params = '') {
  const { status, json, headers } = await shop.ask(
    `/v1/search?q=${encodeURIComponent(q)}${params}`,
    live,
  )
  expect(status).toBe(200)
  return { results: json.organic_results ?? [], related: json.related_searches ?? [], headers }
}

function lines(...documents: readonly object[]): string {
  const file = join(mkdtempSync(join(tmpdir(), 'corpus-')), 'pages.jsonl')
  writeFileSync(file, documents.map((document) => JSON.stringify(document)).join('\n'))
  return file
}

async function addFile(pool: pg.Pool, path: string) {
  return await addDocuments(pool, [{ shown: path, lines: readLines(path, path) }])
}

async function count(where = 'true'): Promise<number> {
  const { rows } = await tables.pool.query<{ n: number }>(
    `select count(*) as n from documents where ${where}`,
  )
  return rows[0]?.n ?? -1
}

function places({ json }: Reply): string[] {
  return json.organic_results?.map(({ url }) => url) ?? []
}

function sumOf(terms: readonly Pick<KnownTerm, 'weight'>[]): number {
  return terms.reduce((sum, { weight }) => sum + weight, 0)
}

function wordsOf(terms: readonly Pick<KnownTerm, 'word'>[]): string[] {
  return terms.map(({ word }) => word)
}

describe('offline results', () => {
  test('are searched for among exactly the pages whose words have enough weight together', async () => {
    const random = seeded('weights')
    for (let round = 0; round < 100; round += 1) {
      const terms = Array.from({ length: 1 + Math.floor(4 * random()) }, (_, index) => {
        const word = `w${index}`
        return { word, documents: 1, forms: [word], weight: Math.ceil(9 * random()) }
      })
      const least = Math.ceil(random() * sumOf(terms))
      const pages = [...Array(2 ** terms.length).keys()].map((page) =>
        terms.filter((_, index) => (page >> index) % 2 === 1),
      )
      const { rows } = await tables.pool.query<{ words: string[] }>(
        `select words
        from jsonb_array_elements($1) as page
        cross join lateral (select array(select jsonb_array_elements_text(page)) as words) as held
        where array_to_tsvector(words) @@ $2::tsquery`,
        [JSON.stringify(pages.map(wordsOf)), enoughOf(terms, least)],
      )
      const enough = pages.filter((held) => sumOf(held) >= least)
      expect(rows.map(({ words }) => words)).toEqual(enough.map(wordsOf))
    }
  })

  test('for ten are the first ten of a hundred, of which only the best are ranked', async () => {
    for (const q of ['webgl method', 'css custom properties property', 'details element firefox']) {
      const [ten, hundred] = [await search(q), await search(q, '&num=100')]
      expect(hundred.results.length).toBeGreaterThan(60)
      expect(new Set(hundred.results.map(({ url }) => url)).size).toBe(hundred.results.length)
      expect(ten.results.map(({ url }) => url)).toEqual(
        hundred.results.slice(0, 10).map(({ url }) => url),
      )
    }
  })

  // Expected pages for well-known terms, chosen before the ranking was looked at.
  const known = [
    ['service workers', 'https://www.w3.org/TR/service-workers/'],
    ['webp', 'https://caniuse.com/webp'],
    ['css grid layout', 'https://www.w3.org/TR/css-grid-1/'],
    [
      'array map javascript',
      'https://developer.mozilla.org/docs/Web/JavaScript/Reference/Global_Objects/Array/map',
    ],
    ['indexeddb', 'https://caniuse.com/indexeddb'],
    ['web audio api', 'https://www.w3.org/TR/webaudio-1.0/'],
    ['shadow dom', 'https://web-platform-dx.github.io/web-features-explorer/features/shadow-dom/'],
    ['content security policy level 3', 'https://www.w3.org/TR/CSP3/'],
    ['dialog element', 'https://caniuse.com/dialog'],
    ['intersection observer', 'https://www.w3.org/TR/intersection-observer/'],
  ] as const
  test.each(known)('for %s include %s among the first five', async (q, url) => {
    expect((await search(q)).results.slice(0, 5).map((result) => result.url)).toContain(url)
  })

  test('are real pages for every query of the shipped list', async () => {
    const rows: { keyword: string }[] = parse(readFileSync(join(root, 'inputs/keywords.csv')), {
      columns: true,
    })
    const empty = []
    for (const { keyword } of rows) {
      if ((await search(keyword)).results.length === 0) empty.push(keyword)
    }
    expect(rows.length).toBeGreaterThanOrEqual(40)
    expect(empty).toEqual([])
  })

  test('with all words come before those with some', async () => {
    const { results } = await search('css subgrid masonry grid lanes')
    const words = results.map(({ title, snippet }) => `${title} ${snippet}`.toLowerCase())
    expect(words[0]).toMatch(/grid/)
  })

  test('are none for a query that the documents do not cover', async () => {
    expect((await search('best running shoes')).results).toEqual([])
  })

  test('for one known word with unknown ones require a page about it', async () => {
    for (const [q, right] of [
      ['popover tailwindqx', /popover/i],
      ['wie geht drag and drop qxwort', /drag/i],
    ] as const) {
      const [first] = places(await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, live))
      expect(first).toMatch(right)
    }
    for (const q of ['football results', 'cat food', 'houses for sale in leeds']) {
      expect(places(await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, live))).toEqual([])
    }
  })

  test('are not affected by corrections of everyday words', async () => {
    for (const q of ['buy domain name', 'cheap hosting', 'best pizza dough']) {
      const { json } = await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, live)
      expect([q, json.interpretation?.corrections ?? []]).toEqual([q, []])
    }
  })

  test('are not affected by corrections of names, but title case is no name', async () => {
    for (const [q, to] of [
      ['Eric Meyer css', []],
      ['Jake Archibald service worker', []],
      ['Css Gird Layout', ['grid']],
    ] as const) {
      const { json } = await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, live)
      const corrections = json.interpretation?.corrections ?? []
      expect([q, corrections.map((one) => one.to)]).toEqual([q, to])
    }
  })

  test('are about what is compared, and read contractions', async () => {
    const compared = await search('webgl2 vs webgpu')
    expect(compared.results.map(({ url }) => url).join(' ')).toMatch(/webgl|webgpu/i)
    const q = encodeURIComponent("why didn't the promise resolve")
    const { json } = await shop.ask(`/v1/search?q=${q}`, live)
    expect(json.interpretation?.ignored_words ?? []).toEqual([])
  })

  test('show a correction: the corrected query is the first related search', async () => {
    expect((await search('css varaibles')).related[0]).toBe('css variables')
    expect((await search('css variables')).related).not.toContain('css variables')
  })

  test('do not disappear because of a typo in an unimportant or unknown word', async () => {
    for (const [q, right] of [
      ['schedule work wehn the browser is idle', /idle|schedul/i],
      ['comment fonctionne webgl', /webgl/i],
      ['hyphens mosaikfliese', /hyphen/i],
    ] as const) {
      expect([q, (await search(q)).results[0]?.url]).toEqual([q, expect.stringMatching(right)])
    }
  })

  test('rank a page with all words above one that repeats some of them', async () => {
    for (const [q, right] of [
      ['blur behind an element', /backdrop-filter/],
      ['random numbers for cryptography', /crypto/i],
    ] as const) {
      expect([q, (await search(q)).results[0]?.url]).toEqual([q, expect.stringMatching(right)])
    }
  })

  test('are not hidden by a typo that a page contains, too', async () => {
    const { json } = await shop.ask('/v1/search?q=service+wrokers', live)
    expect(json.organic_results?.[0]?.url).toMatch(/service-?workers?/i)
  })

  test('ignore the site name in titles: web components are not those of Web APIs', async () => {
    const { json } = await shop.ask('/v1/search?q=web+components', live)
    const urls = json.organic_results?.slice(0, 3).map(({ url }) => url) ?? []
    expect(urls.filter((url) => /CSSMatrixComponent/.test(url))).toEqual([])
  })

  test('respect operators', async () => {
    const all = (await search('"css grid"', '&num=50')).results
    const without = (await search('"css grid" -lanes', '&num=50')).results
    expect(all.some(({ title }) => /lanes/i.test(title))).toBe(true)
    expect(without.some(({ title }) => /lanes/i.test(title))).toBe(false)
  })

  test('of signs, quotes and odd spaces are not an error', async () => {
    for (const q of ['%', "'", '"', '\\', '() & | !', "';drop table x", '🌱', '\u00a0x']) {
      expect((await search(q)).results.length).toBeLessThanOrEqual(10)
    }
  })

  test('name parameters without effect', async () => {
    const sent = '&location=Paris&gl=fr&device=mobile&hl=fr'
    expect((await search('webp', sent)).headers['x-ignored-params']).toBe(
      'location, hl, gl, device',
    )
    expect((await search('webp', '&hl=en')).headers['x-ignored-params']).toBeUndefined()
  })

  test('do not depend on other accounts, however many search', async () => {
    const before = await search('webp images for my garden')
    for (let accounts = 0; accounts < 3; accounts += 1) {
      const planted = '/v1/search?q=webp%20images%20for%20my%20secret%20garden'
      expect((await shop.ask(planted, await shop.live())).status).toBe(200)
    }
    const after = await search('webp images for my garden')
    expect(after.related).toEqual(before.related)
    expect(after.related).not.toContain('webp images for my secret garden')
  })
})

describe('documents', () => {
  test('are loaded once, whichever service starts', async () => {
    const before = await count()
    expect(before).toBeGreaterThan(15_000)
    expect(await Promise.all([loadShipped(tables.pool), loadShipped(tables.pool)])).toEqual([0, 0])
    expect(await count()).toBe(before)
    expect(readFileSync(shippedFile).length).toBeLessThan(1_000_000)
  })

  test('of another shipped version replace the previous ones, and keep added pages', async () => {
    const lone = await openTables(await emptyUrl(), 2)
    const file = join(mkdtempSync(join(tmpdir(), 'corpus-')), 'corpus.gz')
    const pack = (url: string) =>
      writeFileSync(file, gzipSync(`${JSON.stringify({ url, title: 'T' })}\n`))
    pack('https://old.example/')
    await loadShipped(lone.pool, file)
    await addFile(lone.pool, lines({ url: 'https://added.example/', title: 'Added' }))
    pack('https://new.example/')
    expect(await loadShipped(lone.pool, file)).toBe(1)
    const { rows } = await lone.pool.query('select url from documents order by url')
    expect(rows).toEqual([{ url: 'https://added.example/' }, { url: 'https://new.example/' }])
    await lone.pool.end()
  })

  test('that were added are found at once, in their own language', async () => {
    const file = lines({
      url: 'https://garten.example/hochbeet',
      title: 'Hochbeete bauen',
      text: 'So baut man ein Hochbeet aus Holz.',
      lang: 'de',
    })
    expect(await addFile(tables.pool, file)).toEqual({ documents: 1, rejected: [] })
    const { results, headers } = await search('hochbeet bauen', '&hl=de')
    expect(results[0]?.url).toBe('https://garten.example/hochbeet')
    expect(headers['x-ignored-params']).toBeUndefined()
  })

  test('that are not pages are named with their line, and the others are added', async () => {
    const file = lines(
      { url: 'ftp://a.example/', title: 'x' },
      { title: 'none' },
      { url: 'https://ok.example/', title: 'ok' },
    )
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nnot json\n`)
    const { documents, rejected } = await addFile(tables.pool, file)
    expect(documents).toBe(1)
    expect(rejected.map((line) => line.split(':')[1])).toEqual(['1', '2', '4'])
  })

  test('that the database cannot store are named and left out, whatever the reason', async () => {
    // Random words, because repeated ones would be compressed and fit.
    const noise = (length: number) => randomBytes(length).toString('hex')
    const sign = () => String.fromCodePoint(0x4e00 + Math.floor(20_000 * Math.random()))
    const word = () => Array.from({ length: 12 }, sign).join('')
    const words = Array.from({ length: 30_000 }, word).join(' ')
    const file = lines(
      { url: 'https://good.example/1', title: 'One' },
      { url: `https://long.example/${noise(2000)}`, title: 'An address over the size of an index' },
      {
        url: 'https://good.example/2',
        title: 'A\0NUL',
        entities: [{ name: 'Half\ud800 a\0name', type: 'Th\0ing' }],
      },
      { url: 'https://vast.example/', title: 'Too many words', text: words },
      { url: 'https://good.example/3', title: 'Three' },
    )
    const { documents, rejected } = await addFile(tables.pool, file)
    expect(rejected.map((line) => line.split(':')[1])).toEqual(['2', '4'])
    expect(documents).toBe(3)
    expect(await count("url like 'https://good.example/%'")).toBe(3)
  })

  test('with the same address are replaced, not duplicated', async () => {
    const url = 'https://again.example/'
    await addFile(tables.pool, lines({ url, title: 'First' }, { url, title: 'Second' }))
    await addFile(tables.pool, lines({ url, title: 'Third' }))
    const { rows } = await tables.pool.query('select title from documents where url = $1', [url])
    expect(rows).toEqual([{ title: 'Third' }])
  })

  test('from a file that ends early leave everything unchanged', async () => {
    const before = await count()
    const file = lines({ url: 'https://half.example/', title: 'Half' })
    async function* half() {
      yield* readLines(file, 'half.jsonl')
      throw new Error('the disk is gone')
    }
    const pages = [{ shown: 'half.jsonl', lines: half() }]
    await expect(addDocuments(tables.pool, pages)).rejects.toThrow('the disk is gone')
    expect(await count()).toBe(before)
  })

  test('from a folder or a missing file are refused by name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'corpus-'))
    await expect(readLines(folder, 'folder').next()).rejects.toThrow('expected folder to be a')
    await expect(readLines('/nowhere.jsonl', 'no.jsonl').next()).rejects.toThrow(
      'expected no.jsonl',
    )
  })
})

describe('a role without the right to install anything', () => {
  test('is told what its owner has to run, and starts after that', async () => {
    const url = new URL(await emptyUrl())
    const role = `plain_${randomBytes(4).toString('hex')}`
    const admin = new pg.Client({ connectionString: url.href })
    await admin.connect()
    await admin.query(`create role ${role} login password 'plain'`)
    const limited = Object.assign(new URL(url), { username: role, password: 'plain' }).href
    await expect(openTables(limited, 1)).rejects.toThrow('create schema service authorization')
    await admin.query(`create schema service authorization ${role}`)
    await expect(openTables(limited, 1)).rejects.toThrow('create extension pg_trgm')
    await admin.query('create extension pg_trgm')
    await (await openTables(limited, 1)).close()
    await admin.query(`drop owned by ${role}`)
    await admin.query(`drop role ${role}`)
    await admin.end()
  })
})
