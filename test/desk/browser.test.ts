// @module-tag slow
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { processEnvironment } from '../../src/base/config.ts'
import { openPool } from '../../src/base/database/database.ts'
import { pages } from '../../src/desk/pages/all.ts'
import { setOrigins } from '../../src/features/analysis/origins.ts'
import { type FreshDatabase, stockedDatabase } from '../support/database.ts'
import { openDesk, type TestDesk } from '../support/desk.ts'
import { chromium as browserPath, has } from '../support/parts.ts'
import { patienceMs } from '../support/patience.ts'
import { run } from '../support/run.ts'

/** Folder for screenshots of each page, width and mode, if one is wanted. */
const pictures = processEnvironment()['DESK_PICTURES']
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let database: FreshDatabase
let home: string
let env: Record<string, string>
let desk: TestDesk
let browser: Browser

describe.skipIf(!has('chromium'))(
  'the desk in a browser, with two weeks of data that include faults',
  () => {
    beforeAll(async () => {
      database = await stockedDatabase()
      home = mkdtempSync(join(tmpdir(), 'querymill-desk-'))
      env = { DATABASE_URL: database.url, MILL_HOME: home }
      const made = await run('demo', ['--nights', '14', '--faults', '--json'], env)
      if (made.code !== 0) throw new Error(made.stderr)
      await setOrigins(database.db, 'live,sandbox')
      desk = await openDesk(database.url)
      browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
      if (pictures !== undefined) mkdirSync(pictures, { recursive: true })
    })
    afterAll(async () => {
      await browser.close()
      await desk.close()
      await run('stack', ['stop'], env)
      await database.close()
      rmSync(home, { recursive: true, force: true })
    })

    async function open(path: string, options: BrowserContextOptions = {}) {
      const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        ...options,
      })
      const page = await context.newPage()
      const problems: string[] = []
      page.on(
        'console',
        (message) => void (message.type() === 'error' && problems.push(message.text())),
      )
      page.on('pageerror', (error) => void problems.push(error.message))
      page.on(
        'request',
        (request) => void (request.url().startsWith(desk.url) || problems.push(request.url())),
      )
      await page.goto(desk.url + path)
      return { page, problems, close: () => context.close() }
    }

    /** Pages without parameters in their path, and a night for those that have one. */
    const addresses = [
      ...pages.filter(({ path }) => !path.includes(':')).map(({ path }) => path),
      '/runs/2',
      '/nowhere',
    ]

    test.each(addresses)(
      '%s fits three widths in light and dark mode, and is accessible',
      async (path) => {
        const { page, problems, close } = await open(path, { colorScheme: 'light' })
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          for (const width of [390, 1280, 2560]) {
            const look = `${width} ${colorScheme}`
            await page.setViewportSize({ width, height: 900 })
            const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
            expect(over, look).toBeLessThanOrEqual(0)
            // No area of the navigation is cut off.
            const nav = await page
              .locator('.top nav')
              .evaluate((one) => one.scrollWidth - one.clientWidth)
            expect(nav, look).toBeLessThanOrEqual(0)
            if (pictures === undefined) continue
            const name = `${path.replace(/\W+/g, '_')}-${width}-${colorScheme}.png`
            await page.screenshot({ path: join(pictures, name), fullPage: true })
          }
          // Dark mode changes only colours.
          expect(await findings(page, colorScheme === 'dark'), colorScheme).toEqual([])
        }
        // The browser itself reports a missing address.
        expect(problems.filter((problem) => !/status of 404/.test(problem))).toEqual([])
        await close()
      },
    )

    test('operations shows the same numbers as status', async () => {
      const status = JSON.parse((await run('status', ['--json'], env)).stdout)
      const { page, close } = await open('/operations', { javaScriptEnabled: false })
      const shown = new Map(
        await page.$$eval('[data-figure]', (found) =>
          found.map(
            (one) => [one.getAttribute('data-figure'), one.getAttribute('data-value')] as const,
          ),
        ),
      )
      for (const name of [
        'remaining',
        'floor',
        'reserved',
        'uncertain',
        'in_flight',
        'workers',
        'day_spent',
        'month_spent',
      ]) {
        // Without open tasks there is no row of zeros about calls and workers.
        const empty = ['in_flight', 'workers'].includes(name) ? '0' : undefined
        expect(shown.get(`account.${name}`) ?? empty, name).toBe(String(status.account[name]))
      }
      expect(status.runs.length).toBeGreaterThan(5)
      for (const { run: id, tasks, spent } of status.runs) {
        expect(shown.get(`runs.${id}.spent`)).toBe(String(spent))
        for (const state of ['open', 'answered', 'reused', 'failed', 'unknown']) {
          expect(shown.get(`runs.${id}.${state}`), `${id} ${state}`).toBe(String(tasks[state]))
        }
      }
      await close()
    })

    test('operations changes while it is open, in every open page, without another request', async () => {
      const first = await open('/operations')
      const second = await open('/operations')
      const { rows } = await database.pool.query<{ id: number }>('select max(id) as id from runs')
      const [newest] = rows
      const figure = (page: Page) => page.locator(`[data-figure="runs.${newest?.id}.spent"]`)
      await first.page.getByText('live', { exact: true }).waitFor()
      await database.pool.query('update runs set spent = 4711 where id = $1', [newest?.id])
      for (const { page } of [first, second]) {
        await vi.waitFor(async () => expect(await figure(page).textContent()).toBe('4,711'), {
          // Reading takes a twentieth of the time, so on a busy machine the next update takes long.
          timeout: patienceMs,
        })
      }
      await first.close()
      await second.close()
    })

    test('a path through the nights can be followed back, and each step has a URL', async () => {
      const { page, close } = await open('/nights?since=2020-01-01')
      await page.locator('a.day').first().click()
      await page.waitForURL(/\/runs\/\d+$/)
      const title = await page.title()
      await page.getByRole('link', { name: 'All nights' }).click()
      await page.goBack()
      expect(await page.title()).toBe(title)
      await page.goBack()
      expect(page.url()).toBe(`${desk.url}/nights?since=2020-01-01`)
      await page.getByLabel('from').fill('2021-05-06')
      await page.getByRole('button', { name: 'Show' }).click()
      await page.waitForURL(/since=2021-05-06/)
      await close()
    })

    /** The page of the first query in the desk's list. */
    async function openQuery() {
      const opened = await open('/keywords')
      await opened.page.locator('td a[href^="/queries/"]').first().click()
      await opened.page.waitForURL(/\/queries\/[0-9a-f-]{36}$/)
      return opened
    }

    test('a point of a chart shows its value under the pointer and with the arrow keys', async () => {
      const { page, problems, close } = await openQuery()
      const picture = page.getByRole('region', { name: 'Rank history, as a chart' })
      const tip = picture.locator('output.tip')
      await picture.locator('circle.spot').last().hover()
      const last = await tip.innerText()
      expect(last).toMatch(/^[\w.-]+, \d{4}-\d\d-\d\d: (position \d+|not in the top \d+)/)
      await page.mouse.move(1, 1)
      await tip.waitFor({ state: 'hidden' })
      await picture.focus()
      await page.keyboard.press('ArrowRight')
      await tip.waitFor()
      expect(await tip.innerText()).toBe(last)
      await page.keyboard.press('ArrowLeft')
      const before = await tip.innerText()
      expect(before).not.toBe(last)
      expect(before.slice(before.indexOf(', ')) < last.slice(last.indexOf(', '))).toBe(true)
      expect(problems).toEqual([])
      await close()
    })

    test('a chart offers its figures as a file, which the content security policy allows', async () => {
      const { page, problems, close } = await openQuery()
      const link = page.getByRole('link', { name: /^Figures as CSV: Positions for / })
      const [saved] = await Promise.all([page.waitForEvent('download'), link.click()])
      expect(saved.suggestedFilename()).toMatch(/^positions-for-.+-day-by-day\.csv$/)
      const lines = readFileSync(await saved.path(), 'utf8')
        .trim()
        .split('\n')
      expect(lines[0]).toMatch(/^day,answer,/)
      expect(lines).toHaveLength((await page.locator('#numbers tbody tr').count()) + 1)
      expect(problems.filter((problem) => !problem.startsWith('data:text/csv'))).toEqual([])
      await close()
    })

    test('other days are selected by a form that puts them into the URL, and the back button restores the first ones', async () => {
      const { page, close } = await openQuery()
      const first = page.url()
      const days = page.locator('#numbers tbody tr')
      const all = await days.count()
      const shown = await page.getByLabel('To', { exact: true }).inputValue()
      await page.getByLabel('From', { exact: true }).fill(shown)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.waitForURL(new RegExp(`since=${shown}`))
      expect(await days.count()).toBe(1)
      await page.goBack()
      expect(page.url()).toBe(first)
      expect(await days.count()).toBe(all)
      expect(all).toBeGreaterThan(1)
      await page.goForward()
      expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe(shown)
      await close()
    })

    test('keywords are sorted, filtered and paged by links and forms, each view has a URL, and its file contains what is shown', async () => {
      const { page, problems, close } = await open('/keywords')
      const shown = () => page.locator('td[data-head="Keyword"]').allInnerTexts()
      await page.getByRole('link', { name: 'Keyword', exact: true }).click()
      await page.waitForURL(/sort=keyword/)
      const first = await shown()
      expect(first).toHaveLength(50)
      expect(await page.locator('th[aria-sort="ascending"]').innerText()).toContain('Keyword')
      await page.getByRole('link', { name: 'Next →' }).click()
      await page.waitForURL(/sheet=2/)
      expect((await shown()).filter((text) => first.includes(text))).toEqual([])
      await page.getByRole('combobox', { name: 'Rank', exact: true }).selectOption('1-3')
      await page.getByRole('button', { name: 'Show' }).click()
      await page.waitForURL(/rank=1-3/)
      const filtered = await shown()
      const other = await open(page.url().slice(desk.url.length))
      expect(await other.page.locator('td[data-head="Keyword"]').allInnerTexts()).toEqual(filtered)
      await other.close()
      const link = page.getByRole('link', { name: 'All keywords as CSV' })
      const [saved] = await Promise.all([page.waitForEvent('download'), link.click()])
      const lines = readFileSync(await saved.path(), 'utf8')
        .trim()
        .split('\n')
      const heads = await page.locator('#keywords th').allInnerTexts()
      expect(lines[0]).toBe(heads.map((head) => head.replace(/ [▲▼]$/, '')).join(','))
      const ranks = await page.locator('td[data-head="Rank"]').allInnerTexts()
      const rows = lines.slice(1, 51).map((line) => line.split(','))
      expect(rows.map(([keyword]) => keyword)).toEqual(filtered)
      expect(rows.map(([, rank]) => rank)).toEqual(ranks)
      expect(problems).toEqual([])
      await close()
    })

    test('on a phone a table shows its first columns, and the keyboard unfolds the others', async () => {
      const { page, problems, close } = await open('/keywords', {
        viewport: { width: 390, height: 844 },
      })
      const cell = (head: string) => page.locator(`td[data-head="${head}"]`).first()
      await cell('Rank').waitFor()
      expect(await cell('Ranking page').isVisible()).toBe(false)
      await page.getByText('All columns of Keywords').press('Enter')
      await cell('Ranking page').waitFor()
      await page.setViewportSize({ width: 1200, height: 900 })
      expect(await page.getByText('All columns of Keywords').isVisible()).toBe(false)
      expect(problems).toEqual([])
      await close()
    })

    test('two sides are compared by a form that puts them into the URL', async () => {
      const { page, problems, close } = await open('/compare')
      await page.getByLabel('B: keywords').selectOption({ index: 1 })
      await page.getByRole('button', { name: 'Compare' }).click()
      await page.waitForURL(/label_b=list/)
      expect(await page.locator('#sides tbody tr').count()).toBeGreaterThan(1)
      expect(problems).toEqual([])
      await close()
    })

    test('two nights of a query are shown side by side by a link, and by selecting another night', async () => {
      const { page, problems, close } = await openQuery()
      await page.locator('#nights a[href*="beside="]').first().click()
      await page.getByRole('region', { name: 'Two nights side by side' }).waitFor()
      // The day of each night is above its own column.
      const lefts = (row: string) =>
        page
          .locator(`[aria-label="Two nights side by side"] ${row} > *`)
          .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().left))
      expect(await lefts('thead tr')).toEqual(await lefts('tbody tr:first-child'))
      const field = page.getByLabel('Compare with the night of')
      const other = await page.locator('nav[aria-label="Nights"] a').first().getAttribute('href')
      const day = /nights\/(\d{4}-\d\d-\d\d)/.exec(other ?? '')?.[1] ?? ''
      await field.fill(day)
      await page.getByRole('button', { name: 'Side by side' }).click()
      await page.waitForURL(new RegExp(`beside=${day}`))
      expect(await page.getByRole('heading', { name: new RegExp(day) }).count()).toBeGreaterThan(0)
      expect(problems).toEqual([])
      await close()
    })

    test('a printed page contains everything that was shown, without controls', async () => {
      const { page, close } = await openQuery()
      await page.emulateMedia({ media: 'print' })
      for (const pressed of ['header.top', '.filters button', '.skip']) {
        expect(await page.locator(pressed).first().isVisible(), pressed).toBe(false)
      }
      const cut = await page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((one) => getComputedStyle(one).overflowX !== 'visible').length",
      )
      expect(cut).toBe(0)
      expect((await page.pdf({ format: 'A4' })).subarray(0, 5).toString()).toBe('%PDF-')
      await close()
    })

    test('the keyboard skips to the content, and reaches tables that scroll', async () => {
      const { page, close } = await open('/operations', { viewport: { width: 700, height: 900 } })
      await page.getByText('live', { exact: true }).waitFor()
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement?.textContent')).toBe('Skip to the content')
      await page.keyboard.press('Enter')
      expect(await page.evaluate('document.activeElement?.id')).toBe('content')
      const table = page.getByRole('region', { name: 'Runs' }).and(page.locator('.scroll'))
      await table.focus()
      await vi.waitFor(
        async () => {
          await page.keyboard.press('ArrowRight')
          expect(await table.evaluate((one) => one.scrollLeft)).toBeGreaterThan(0)
        },
        { timeout: patienceMs },
      )
      await close()
    })

    test('a focused table that was scrolled keeps its position when it is redrawn', async () => {
      const { page, close } = await open('/operations', { viewport: { width: 700, height: 900 } })
      await page.getByText('live', { exact: true }).waitFor()
      const table = page.getByRole('region', { name: 'Runs' }).and(page.locator('.scroll'))
      await table.focus()
      await table.evaluate((one) => {
        one.scrollLeft = 120
        one.setAttribute('data-before', '')
      })
      await database.pool.query(
        'update runs set spent = spent + 1 where id = (select max(id) from runs)',
      )
      await vi.waitFor(async () => expect(await page.locator('[data-before]').count()).toBe(0), {
        timeout: patienceMs,
      })
      expect(await table.evaluate((one) => one.scrollLeft)).toBe(120)
      expect(await page.evaluate('document.activeElement?.ariaLabel')).toBe('Runs')
      await close()
    })

    test('each week of a calendar is on one line, at every width', async () => {
      const { page, close } = await open('/nights')
      for (const width of [390, 1100, 1200, 2560]) {
        await page.setViewportSize({ width, height: 900 })
        const lines = await page.locator('.days a.day > span:first-child').evaluateAll((days) =>
          days.map((day) => {
            const text = day.firstChild
            if (text === null) return 0
            const range = day.ownerDocument.createRange()
            range.selectNodeContents(text)
            return range.getClientRects().length
          }),
        )
        expect(lines.length, String(width)).toBeGreaterThan(10)
        expect(new Set(lines), String(width)).toEqual(new Set([1]))
      }
      await close()
    })

    test('suspect nights are marked as such, each with its reason', async () => {
      const { page, close } = await open('/nights')
      const nights = await database.pool.query('select id from runs where suspect')
      expect(nights.rows.length).toBeGreaterThan(3)
      expect(await page.locator('a.day.suspect').count()).toBe(nights.rows.length)
      await page.locator('a.day.suspect').first().click()
      expect(await page.getByRole('heading', { name: /Suspect/ }).count()).toBe(1)
      await close()
    })

    test('while the database is unreachable the page says so, and recovers automatically', async () => {
      const away = await open('/operations')
      const still = await open('/operations')
      await still.page.getByText('live', { exact: true }).waitFor()
      const admin = openPool(inject('adminUrl'), { name: 'tests', max: 1 })
      const name = new URL(database.url).pathname.slice(1)
      await admin.query(`alter database ${name} allow_connections false`)
      await admin.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
        [name],
      )
      try {
        await still.page.getByText('The database is unreachable').waitFor({ timeout: patienceMs })
        await away.page.reload()
        await away.page.getByRole('heading', { name: 'The database is unreachable' }).waitFor()
      } finally {
        await admin.query(`alter database ${name} allow_connections true`)
        await admin.end()
      }
      await away.page.getByRole('heading', { name: 'Operations' }).waitFor({ timeout: patienceMs })
      await still.page.getByText('live', { exact: true }).waitFor({ timeout: patienceMs })
      expect(await still.page.locator('#pulse.bad').count()).toBe(0)
      await away.close()
      await still.close()
    })
  },
)

/** Problems found by axe; of its rules, only those about colours if requested. */
async function findings(page: Page, colours: boolean): Promise<unknown> {
  await page.evaluate(axe)
  const found = await page.evaluate(
    colours ? "axe.run({ runOnly: ['color-contrast', 'link-in-text-block'] })" : 'axe.run()',
  )
  const { violations } = found as {
    violations: { id: string; nodes: { html: string }[] }[]
  }
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
