import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { pages } from '../../../src/commands/desk/pages.ts'
import { processEnvironment } from '../../../src/shared/config.ts'
import { setOrigins } from '../../../src/store/analysis/origins.ts'
import { openPool } from '../../../src/store/database.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'
import { openDesk, type TestDesk } from '../../support/desk.ts'
import { run } from '../../support/run.ts'

const program = processEnvironment()['CHROMIUM'] ?? '/usr/bin/chromium'
/** A folder for those who want to look: a picture of each page, width and mode. */
const pictures = processEnvironment()['DESK_PICTURES']
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let database: FreshDatabase
let home: string
let env: Record<string, string>
let desk: TestDesk
let browser: Browser

describe.skipIf(!existsSync(program))(
  'the desk in a browser, over a month in which things go wrong',
  () => {
    beforeAll(async () => {
      database = await freshDatabase()
      home = mkdtempSync(join(tmpdir(), 'querymill-desk-'))
      env = { DATABASE_URL: database.url, MILL_HOME: home }
      const made = await run('demo', ['--nights', '12', '--faults', '--json'], env)
      if (made.code !== 0) throw new Error(made.stderr)
      await setOrigins(database.db, 'live,sandbox')
      desk = await openDesk(database.url)
      browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
      if (pictures !== undefined) mkdirSync(pictures, { recursive: true })
    }, 600_000)
    afterAll(async () => {
      await browser.close()
      await desk.close()
      await run('stack', ['stop'], env)
      await database.close()
      rmSync(home, { recursive: true, force: true })
    }, 60_000)

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

    /** Pages without parts in their path, and a night for those that have one. */
    const addresses = [
      ...pages.filter(({ path }) => !path.includes(':')).map(({ path }) => path),
      '/runs/2',
      '/nowhere',
    ]

    test.each(addresses)(
      '%s fits three widths by day and by night, and everybody can read it',
      async (path) => {
        for (const colorScheme of ['light', 'dark'] as const) {
          const { page, problems, close } = await open(path, { colorScheme })
          for (const width of [390, 1280, 2560]) {
            const look = `${width} ${colorScheme}`
            await page.setViewportSize({ width, height: 900 })
            const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
            expect(over, look).toBeLessThanOrEqual(0)
            if (pictures === undefined) continue
            const name = `${path.replace(/\W+/g, '_')}-${width}-${colorScheme}.png`
            await page.screenshot({ path: join(pictures, name), fullPage: true })
          }
          expect(await serious(page), colorScheme).toEqual([])
          // The browser itself tells of an address that is not there.
          const own = problems.filter((problem) => !/status of 404/.test(problem))
          expect(own, colorScheme).toEqual([])
          await close()
        }
      },
      180_000,
    )

    test('tonight tells the same numbers as status', async () => {
      const status = JSON.parse((await run('status', ['--json'], env)).stdout)
      const { page, close } = await open('/', { javaScriptEnabled: false })
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
        expect(shown.get(`account.${name}`), name).toBe(String(status.account[name]))
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

    test('tonight changes while it is looked at, in every open page, without another request for it', async () => {
      const first = await open('/')
      const second = await open('/')
      const figure = (page: Page) => page.locator('[data-figure="runs.2.spent"]')
      await first.page.getByText('live', { exact: true }).waitFor()
      await database.pool.query('update runs set spent = 4711 where id = 2')
      for (const { page } of [first, second]) {
        await vi.waitFor(async () => expect(await figure(page).textContent()).toBe('4,711'), {
          // A look takes a twentieth of the time: on a busy machine the next one is long in coming.
          timeout: 90_000,
        })
      }
      await first.close()
      await second.close()
    }, 240_000)

    test('a way through the nights can be gone back, and each step has an address', async () => {
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

    test('the keyboard skips to the content, and reaches tables that are too wide', async () => {
      const { page, close } = await open('/', { viewport: { width: 390, height: 900 } })
      await page.keyboard.press('Tab')
      expect(await page.evaluate('document.activeElement?.textContent')).toBe('Skip to the content')
      await page.keyboard.press('Enter')
      expect(await page.evaluate('document.activeElement?.id')).toBe('content')
      const table = page.getByRole('region', { name: 'Runs' }).and(page.locator('.scroll'))
      await table.focus()
      await page.keyboard.press('ArrowRight')
      await vi.waitFor(async () =>
        expect(await table.evaluate((one) => one.scrollLeft)).toBeGreaterThan(0),
      )
      await close()
    })

    test('suspect nights are told as such, each with its reason', async () => {
      const { page, close } = await open('/nights')
      const nights = await database.pool.query('select id from runs where suspect')
      expect(nights.rows.length).toBeGreaterThan(3)
      expect(await page.locator('a.day.suspect').count()).toBe(nights.rows.length)
      await page.locator('a.day.suspect').first().click()
      expect(await page.getByRole('heading', { name: /Suspect/ }).count()).toBe(1)
      await close()
    })

    test('while the database is away the page says so, and comes back by itself', async () => {
      const away = await open('/')
      const still = await open('/')
      await still.page.getByText('live', { exact: true }).waitFor()
      const admin = openPool(inject('adminUrl'), { name: 'tests', max: 1 })
      const name = new URL(database.url).pathname.slice(1)
      await admin.query(`alter database ${name} allow_connections false`)
      await admin.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
        [name],
      )
      try {
        await still.page.getByText('The database is away').waitFor({ timeout: 20_000 })
        await away.page.reload()
        await away.page.getByRole('heading', { name: 'The database is away' }).waitFor()
      } finally {
        await admin.query(`alter database ${name} allow_connections true`)
        await admin.end()
      }
      await away.page.getByRole('heading', { name: 'Tonight' }).waitFor({ timeout: 20_000 })
      await still.page.getByText('live', { exact: true }).waitFor({ timeout: 20_000 })
      expect(await still.page.locator('#pulse.bad').count()).toBe(0)
      await away.close()
      await still.close()
    }, 90_000)
  },
)

/** What axe finds that keeps somebody from reading or using the page. */
async function serious(page: Page): Promise<unknown> {
  await page.evaluate(axe)
  const found = await page.evaluate('axe.run()')
  const { violations } = found as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
