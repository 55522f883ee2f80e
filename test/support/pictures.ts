// npm run pictures [-- NAME…] → docs/pictures/desk-*.png: screenshots of the desk with the current settings, for README
// and docs/desk.md. `npm run demo -- --nights 30 --faults` creates suitable data; for `cadence`, use `-- --nights 60
// --cadence`. Needs a Chromium (CHROMIUM=/usr/bin/chromium).
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { serveDesk } from '../../src/desk/command.ts'
import { processEnvironment, readConfig } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { say } from '../../src/base/cli/command.ts'

const shown = [
  { name: 'overview', path: '/', colorScheme: 'light', height: 1150 },
  { name: 'keywords', path: '/keywords', colorScheme: 'light', height: 900 },
  { name: 'operations', path: '/operations', colorScheme: 'light', height: 900 },
  { name: 'nights', path: '/nights', colorScheme: 'light', height: 760 },
  {
    name: 'night',
    path: '/nights',
    click: 'a.day.suspect[title*="queries were answered"]',
    colorScheme: 'light',
    height: 900,
  },
  { name: 'money', path: '/money', colorScheme: 'dark', height: 900 },
  { name: 'cadence', path: '/cadence', colorScheme: 'light', height: 1400 },
] as const

const folder = join(root, 'docs', 'pictures')
const env = processEnvironment()
const desk = await serveDesk({
  config: readConfig(env),
  host: '127.0.0.1',
  port: 0,
  password: null,
  publicUrl: null,
  report: say,
})
const browser = await chromium.launch({
  executablePath: env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
mkdirSync(folder, { recursive: true })
const named = process.argv.slice(2)
for (const page of shown) {
  if (named.length === 0 ? page.name !== 'cadence' : named.includes(page.name)) {
    await take(browser, page)
  }
}
await browser.close()
await desk.close()

async function take(from: Browser, picture: (typeof shown)[number]): Promise<void> {
  const { name, path, colorScheme, height } = picture
  const page = await from.newPage({ viewport: { width: 1120, height }, colorScheme })
  await page.goto(desk.url + path)
  if ('click' in picture) await page.locator(picture.click).last().click()
  await page.locator('h1').waitFor()
  await page.screenshot({ path: join(folder, `desk-${name}.png`) })
  await page.close()
  say(`docs/pictures/desk-${name}.png`)
}
