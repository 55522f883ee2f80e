import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readSlice } from '../../../src/base/database/views.ts'
import { readReport, renderPage } from '../../../src/desk/report/page.ts'
import { readSnapshot } from '../../../src/desk/page.ts'
import { Story } from '../../features/analysis/story.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { chromium as browserPath, has } from '../../support/parts.ts'
import { temporaryFolder } from '../../support/place.ts'
import { evilReport, plainReport } from './findings.ts'
import { payloads } from './payloads.ts'

const made = new Date('2026-01-05T10:00:00Z')
const config = { zone: 'UTC', renewal: null }
const all = readSlice(new Map())
const asked = { slice: all, domains: [], today: '2026-01-05', config }

const readFrom = ({ db }: FreshDatabase, origins?: string) =>
  readSnapshot(db, { origins, role: null }, (trx) => readReport(trx, asked))

describe('the page', () => {
  test('shows what happened in a history', async () => {
    const database = await freshDatabase()
    try {
      const story = new Story(database.pool)
      await database.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
      await story.night('2026-01-01', { 'red shoes': ['us.com/', 'b.com/'], boots: ['b.com/'] })
      await story.night('2026-01-02', { 'red shoes': ['b.com/', 'us.com/'], boots: 'failed' })
      const found = await readFrom(database)
      expect(found.figures).toMatchObject({
        origins: ['live'],
        day: '2026-01-02',
        previous: '2026-01-01',
        queries: 2,
        answers: 3,
        credits: 3,
        domains: [{ domain: 'us.com', label: 'Us' }],
        ranks: [
          { domain: 'us.com', q: 'red shoes', runDate: '2026-01-01', position: 1 },
          { domain: 'us.com', q: 'red shoes', runDate: '2026-01-02', position: 2 },
        ],
      })
      expect(found.held).toMatchObject([{ moves: [{ q: 'red shoes', previous: 1, position: 2 }] }])
      expect(found.lists).toMatchObject([
        {
          days: [
            { answered: 1, failed: 1 },
            { answered: 2, failed: 0 },
          ],
        },
      ])
      const page = renderPage(found, made)
      expect(page).toContain('Rank history of Us')
      expect(page.replace(/<[^>]*>/g, '')).toMatch(/▼down 1/)
      expect(page).not.toContain('Not live')
      // Nothing is fetched, and no script runs.
      expect(page).not.toMatch(/<script|<link|<img|\ssrc=|@import|url\(/i)
    } finally {
      await database.close()
    }
  })

  test('of an empty database says so, and one of sandbox answers says that they are not live', async () => {
    const database = await freshDatabase()
    try {
      const ask = async (origins?: string) => renderPage(await readFrom(database, origins), made)
      expect(await ask()).toContain('No readable answers yet.')
      await new Story(database.pool).night(
        '2026-01-01',
        { shoes: ['a.com/'] },
        { origin: 'sandbox' },
      )
      expect(await ask()).toContain('No readable answers yet.')
      expect(await ask('sandbox')).toMatch(/Not live.*SANDBOX answers/s)
    } finally {
      await database.close()
    }
  })

  test('gives each part a unique id, and links only to its own parts', () => {
    const page = renderPage(evilReport(), made)
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
    expect(ids.length).toBeGreaterThan(30)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
    const ways = [...page.matchAll(/<a\s[^>]*href="([^"]*)"/g)].map(([, way]) => way)
    expect(ways.length).toBeGreaterThan(0)
    const away = ways.filter((way) => !ids.some((id) => way === `#${id}`))
    expect(away.filter((way) => !way?.startsWith('data:text/csv;'))).toEqual([])
    expect(page).not.toMatch(/<form|<input|<button|side by side/)
  })
})

describe.skipIf(!has('chromium'))('in a browser', { tags: ['slow'] }, () => {
  let browser: Browser
  const folder = temporaryFolder('page')
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
  })
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

  test('forty hostile texts in every place stay text: nothing runs, nothing is fetched', async () => {
    expect(payloads).toHaveLength(40)
    const { page, complaints, requests, file } = await open(renderPage(evilReport(), made))
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
    for (const address of found.addresses) {
      expect(address).toMatch(/^(#domain-\d|data:text\/csv;charset=utf-8,[^<>"\s]*)$/)
    }
    for (const payload of payloads) expect(found.text).toContain(payload)
    await page.close()
  })

  test('light and dark mode differ only in colours, and nothing is wider than the window', async () => {
    const seen: string[] = []
    for (const [scheme, width] of [
      ['light', 1100],
      ['dark', 1100],
      ['light', 320],
    ] as const) {
      const { page, complaints } = await open(renderPage(evilReport(), made), scheme, width)
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
  })

  test('on a phone every label is readable, and no word of a table is broken', async () => {
    const { page } = await open(renderPage(plainReport(), made), 'light', 360)
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
  })

  test('of four hundred nights, with right-to-left scripts and long words, shows the newest ninety days on a phone', async () => {
    const database = await freshDatabase()
    try {
      await database.pool.query("insert into own_domains (domain, label) values ('us.com', $1)", [
        'شركتنا الطويلة جدا '.repeat(6),
      ])
      const story = new Story(database.pool)
      const long = `${'donaudampfschifffahrt'.repeat(8)} שלום עולם`
      const dates = Array.from({ length: 400 }, (_, night) =>
        new Date(Date.UTC(2025, 0, 1 + night)).toISOString().slice(0, 10),
      )
      for (const [night, date] of dates.entries()) {
        const places = night % 2 === 0 ? ['us.com/', 'b.com/'] : ['b.com/', 'us.com/']
        await story.night(date, { [long]: places, 'أحذية حمراء': places.toReversed() })
      }
      // A server does this automatically after a while.
      await database.pool.query('analyze')
      const newest = dates.at(-1) ?? ''
      const found = await readSnapshot(database.db, { role: null }, (trx) =>
        readReport(trx, { ...asked, today: newest }),
      )
      expect(found.figures.span).toMatchObject({ since: dates.at(-90), until: newest })
      const { page, complaints } = await open(renderPage(found, made), 'light', 390)
      const look = await page.evaluate(() => {
        interface Part {
          readonly textContent: string
          readonly dir: string
          getBoundingClientRect(): { readonly left: number; readonly right: number }
          querySelectorAll(selector: string): Iterable<Part>
        }
        const { document } = globalThis as unknown as {
          document: {
            documentElement: { scrollWidth: number; clientWidth: number }
            querySelectorAll(selector: string): Iterable<Part>
          }
        }
        const { scrollWidth, clientWidth } = document.documentElement
        const ends = [...document.querySelectorAll('svg[role=img] .series path')].map(
          (line) => line.getBoundingClientRect().right,
        )
        return { over: scrollWidth - clientWidth, ends }
      })
      expect(complaints).toEqual([])
      expect(look.over).toBe(0)
      expect(look.ends.length).toBeGreaterThan(3)
      // The newest days are visible first, without scrolling the chart.
      expect(Math.max(...look.ends)).toBeLessThanOrEqual(390)
      await page.close()
    } finally {
      await database.close()
    }
  })

  test('each chart offers its figures as a file, without a server or script', async () => {
    const { page, complaints, requests, file } = await open(renderPage(plainReport(), made))
    const links = page.getByRole('link', { name: /^Figures as CSV/ })
    const pictures = await page.locator('svg[role=img]').count()
    expect(pictures).toBeGreaterThan(4)
    expect(await links.count()).toBe(pictures)
    const link = page.getByRole('link', { name: 'Figures as CSV: Share of voice of a.com,' })
    const [saved] = await Promise.all([page.waitForEvent('download'), link.click()])
    expect(saved.suggestedFilename()).toBe('share-of-voice-of-a-com-day-by-day.csv')
    const days = ['2026-01-01', '2026-01-02', '2026-01-03']
    expect(readFileSync(await saved.path(), 'utf8')).toBe(
      ['day,a.com', ...days.map((day) => `${day},0.1`), ''].join('\n'),
    )
    expect(complaints).toEqual([])
    expect(requests.filter((request) => !request.startsWith('data:'))).toEqual([
      pathToFileURL(file).href,
    ])
    expect(page.url()).toBe(pathToFileURL(file).href)
    await page.close()
  })

  test('becomes a PDF when it is printed', async () => {
    const { page } = await open(renderPage(evilReport(), made))
    const printed = await page.pdf({ format: 'A4' })
    expect(printed.subarray(0, 5).toString()).toBe('%PDF-')
    await page.close()
  })
})
