import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processEnvironment } from '../../../src/shared/config.ts'
import { html, link } from '../../../src/commands/report/html.ts'
import { renderPage } from '../../../src/commands/report/page.ts'
import { readFigures, type Figures } from '../../../src/store/analysis/figures.ts'
import { Story } from '../../analysis/story.ts'
import { freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/server.ts'
import { payloads } from './payloads.ts'

const made = new Date('2026-01-05T10:00:00Z')
const asked = { tag: '*', domains: [], today: '2026-01-05' }

/** Every text of the page says something evil. */
function evil(): Figures {
  const days = ['2026-01-01', '2026-01-02', '2026-01-03']
  return {
    origins: ['live', payloads[0] ?? ''],
    tag: payloads[1] ?? '',
    day: '2026-01-03',
    compared: true,
    thin: payloads,
    notes: payloads.map((text) => ({ date: '2026-01-02', text, tag: text })),
    suspect: payloads.map((list) => ({ runDate: '2026-01-01', list, reasons: payloads })),
    queries: 40,
    answers: 120,
    credits: 120,
    floor: 100,
    domains: payloads.slice(0, 3).map((domain) => ({ domain, label: `${domain} label` })),
    runs: payloads.map((list, run) => ({
      run,
      list,
      runDate: days[0] ?? '',
      kind: 'nightly',
      state: list,
      tasks: 1,
      answered: 1,
      reused: 0,
      failed: 0,
      unknown: 0,
      left: 0,
      credits: 1,
    })),
    balance: payloads.flatMap((account) =>
      days.map((day, index) => ({ account, at: new Date(day), remaining: 1000 - index })),
    ),
    shares: payloads.flatMap((domain) => days.map((runDate) => ({ domain, runDate, share: 0.1 }))),
    ranks: payloads.flatMap((q) =>
      days.map((runDate) => ({
        domain: payloads[0] ?? '',
        queryId: q,
        q,
        runDate,
        position: 3,
        depth: 10,
      })),
    ),
    variants: payloads.flatMap((q) => {
      const none = { hl: null, gl: null, num: 10 }
      return [
        { queryId: q, q, device: q, location: q, ...none },
        { queryId: `other ${q}`, q, device: null, location: null, ...none },
      ]
    }),
    moves: payloads.map((text) => ({
      variant: text,
      q: text,
      domain: text,
      previous: 4,
      position: null,
      change: text,
      page: text,
      url: text,
      title: text,
    })),
  }
}

/** A page of ordinary words. */
function plain(): Figures {
  const { runs, balance, shares, ranks, ...rest } = evil()
  return {
    ...rest,
    origins: ['live'],
    tag: '*',
    domains: [{ domain: 'a.com', label: 'Us' }],
    runs: runs.slice(0, 2).map((run) => ({ ...run, list: 'keywords', state: 'cancelled' })),
    balance: balance.slice(0, 3).map((point) => ({ ...point, account: 'bundled' })),
    shares: shares.slice(0, 3).map((point) => ({ ...point, domain: 'a.com' })),
    ranks: ranks.slice(0, 3).map((point) => ({ ...point, domain: 'a.com', q: 'shoes' })),
    variants: [],
    moves: ['entered', 'down', 'same'].map((change) => ({
      variant: '',
      q: 'intersection observer',
      domain: 'a.com',
      previous: 4,
      position: 6,
      change,
      page: 'a.com/observers',
      url: 'https://a.com/observers',
      title: 'Intersection Observer in practice',
    })),
  }
}

describe('a template', () => {
  test('makes text of whatever a value says', () => {
    expect(html`<p title="${'"><b>'}">${'<script>&'}${["'", '`']}${null}</p>`.text).toBe(
      '<p title="&quot;&gt;&lt;b&gt;">&lt;script&gt;&amp;&#39;&#96;</p>',
    )
  })

  test('replaces characters that HTML forbids or that turn the text around', () => {
    expect(html`${'a\u0000b\u202ec\ud800'}`.text).toBe('a\ufffdb\ufffdc\ufffd')
  })

  test('links to the web only', () => {
    expect(link('https://example.com/?a=1&b="2"', 'x').text).toBe(
      '<a href="https://example.com/?a=1&amp;b=%222%22" rel="noopener noreferrer nofollow">x</a>',
    )
    for (const url of ['javascript:1', 'data:text/html,x', '//example.com', 'https://', null]) {
      expect(link(url, '<x>').text).toBe('&lt;x&gt;')
    }
  })
})

describe('the page', () => {
  test('of a history says what happened in it', async () => {
    const database = await freshDatabase()
    try {
      const story = new Story(database.pool)
      await database.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
      await story.night('2026-01-01', { 'red shoes': ['us.com/', 'b.com/'], boots: ['b.com/'] })
      await story.night('2026-01-02', { 'red shoes': ['b.com/', 'us.com/'], boots: 'failed' })
      const figures = await readFigures(database.db, { ...asked, origins: undefined })
      expect(figures).toMatchObject({
        origins: ['live'],
        day: '2026-01-02',
        queries: 2,
        answers: 3,
        credits: 3,
        domains: [{ domain: 'us.com', label: 'Us' }],
        ranks: [
          { domain: 'us.com', q: 'red shoes', runDate: '2026-01-01', position: 1 },
          { domain: 'us.com', q: 'red shoes', runDate: '2026-01-02', position: 2 },
        ],
        moves: [{ q: 'red shoes', previous: 1, position: 2, change: 'down', page: 'us.com' }],
      })
      expect(figures.runs.map(({ answered, failed }) => [answered, failed])).toEqual([
        [1, 1],
        [2, 0],
      ])
      const page = renderPage(figures, made)
      expect(page).toContain('Rank history of Us')
      expect(page).toMatch(/▼ down\s*1/)
      expect(page).not.toContain('Not live')
      // Nothing is fetched and nothing runs.
      expect(page).not.toMatch(/<script|<link|<img|\ssrc=|@import|url\(/i)
    } finally {
      await database.close()
    }
  })

  test('of an empty database says so, and one of sandbox answers says that they are not live', async () => {
    const database = await freshDatabase()
    try {
      const ask = (origins?: string) =>
        readFigures(database.db, { ...asked, origins }).then((figures) => renderPage(figures, made))
      expect(await ask()).toContain('No readable answers yet.')
      await new Story(database.pool).night(
        '2026-01-01',
        { shoes: ['a.com/'] },
        { origin: 'sandbox' },
      )
      expect(await ask()).toContain('No readable answers yet.')
      expect(await ask('sandbox')).toMatch(/Not live.*sandbox answers/s)
    } finally {
      await database.close()
    }
  })
})

const executablePath = '/usr/bin/chromium'
const required = processEnvironment()['REQUIRE_CHROMIUM'] === '1'
const there = existsSync(executablePath)
if (!there && !required) {
  process.stderr.write(`${executablePath} is not there: the page was not opened in a browser\n`)
}

describe.skipIf(!there && !required)('in a browser', () => {
  let browser: Browser
  const folder = temporaryFolder('page')
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  }, 120_000)
  afterAll(() => browser?.close())

  async function open(text: string, colorScheme: 'light' | 'dark' = 'light', width = 1100) {
    const file = join(folder, `${colorScheme}.html`)
    writeFileSync(file, text)
    const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
    const complaints: string[] = []
    const requests: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('dialog', (dialog) => complaints.push(dialog.message()))
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(pathToFileURL(file).href)
    return { page, complaints, requests, file }
  }

  test('forty evil texts in every place stay text: nothing runs, nothing is fetched', async () => {
    expect(payloads).toHaveLength(40)
    const { page, complaints, requests, file } = await open(renderPage(evil(), made))
    const found = await page.evaluate(() => {
      const view = globalThis as unknown as {
        hit?: unknown
        document: {
          body: { textContent: string }
          querySelectorAll(selector: string): Iterable<{
            tagName: string
            attributes: Iterable<{ name: string; value: string }>
          }>
        }
      }
      const elements = [...view.document.querySelectorAll('*')]
      const attributes = elements.flatMap((element) => [...element.attributes])
      return {
        hit: view.hit ?? null,
        tags: [...new Set(elements.map((element) => element.tagName.toLowerCase()))],
        handlers: attributes.filter(({ name }) => name.startsWith('on')).length,
        addresses: attributes
          .filter(({ name }) => ['href', 'src', 'xlink:href', 'action'].includes(name))
          .map(({ value }) => value),
        text: view.document.body.textContent,
      }
    })
    expect(found.hit).toBeNull()
    expect(complaints).toEqual([])
    expect(requests).toEqual([pathToFileURL(file).href])
    expect(found.handlers).toBe(0)
    const forbidden = [
      'script',
      'iframe',
      'object',
      'embed',
      'img',
      'form',
      'input',
      'base',
      'link',
    ]
    expect(found.tags.filter((tag) => forbidden.includes(tag))).toEqual([])
    for (const address of found.addresses) expect(address).toMatch(/^https:\/\/example\.com\//)
    for (const payload of payloads) expect(found.text).toContain(payload)
    await page.close()
  }, 120_000)

  test('light and dark differ in paper and ink, and nothing is wider than the window', async () => {
    const seen: string[] = []
    for (const [scheme, width] of [
      ['light', 1100],
      ['dark', 1100],
      ['light', 320],
    ] as const) {
      const { page, complaints } = await open(renderPage(evil(), made), scheme, width)
      const look = await page.evaluate(() => {
        const view = globalThis as unknown as {
          getComputedStyle(element: unknown): { backgroundColor: string; color: string }
          document: { body: unknown; documentElement: { scrollWidth: number; clientWidth: number } }
        }
        const { backgroundColor, color } = view.getComputedStyle(view.document.body)
        const { scrollWidth, clientWidth } = view.document.documentElement
        return { colours: `${backgroundColor} ${color}`, over: scrollWidth - clientWidth }
      })
      seen.push(look.colours)
      expect(look.over).toBe(0)
      expect(complaints).toEqual([])
      await page.close()
    }
    expect(new Set(seen).size).toBe(2)
  }, 120_000)

  test('on a telephone every label can be read, and no word of a table is broken', async () => {
    const { page } = await open(renderPage(plain(), made), 'light', 360)
    const found = await page.evaluate(() => {
      interface Text {
        readonly data: string
      }
      interface Part {
        readonly childNodes: Iterable<Text>
        getBoundingClientRect(): { readonly height: number }
      }
      const { document } = globalThis as unknown as {
        document: {
          createRange(): {
            setStart(text: Text, at: number): void
            setEnd(text: Text, at: number): void
            getClientRects(): { readonly length: number }
          }
          querySelectorAll(selector: string): Iterable<Part>
        }
      }
      const broken = [...document.querySelectorAll('td, td *')].flatMap(({ childNodes }) =>
        [...childNodes].flatMap((text) =>
          [...(text.data ?? '').matchAll(/[\p{L}\p{N}.]+/gu)].flatMap(({ 0: word, index }) => {
            const range = document.createRange()
            range.setStart(text, index)
            range.setEnd(text, index + word.length)
            return range.getClientRects().length > 1 ? [word] : []
          }),
        ),
      )
      const labels = [...document.querySelectorAll('svg text')]
      return { broken, heights: labels.map((label) => label.getBoundingClientRect().height) }
    })
    expect(found.broken).toEqual([])
    expect(found.heights.length).toBeGreaterThan(10)
    expect(Math.min(...found.heights)).toBeGreaterThan(9)
    await page.close()
  }, 120_000)

  test('becomes a PDF when it is printed', async () => {
    const { page } = await open(renderPage(evil(), made))
    const printed = await page.pdf({ format: 'A4' })
    expect(printed.subarray(0, 5).toString()).toBe('%PDF-')
    await page.close()
  }, 120_000)
})
