import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processEnvironment } from '../../../src/base/config.ts'
import { Secret } from '../../../src/base/secret.ts'
import { openTables } from '../../../src/service/database.ts'
import { openShop, type Shop } from '../shop.ts'
import { chromium as browserPath, has } from '../../support/parts.ts'

const pictures = processEnvironment()['DASHBOARD_PICTURES']

let shop: Shop

beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.service.close())

function form(fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields).toString()
  return {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(Buffer.byteLength(body)),
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
  }
}

describe('access to the dashboard', () => {
  test('is open on its own machine, by a name of this machine and without a proxy', async () => {
    expect((await shop.ask('/dashboard')).status).toBe(200)
    for (const headers of [{ host: 'evil.example' }, { 'x-forwarded-for': '1.2.3.4' }]) {
      expect((await shop.ask('/dashboard', null, { headers })).status).toBe(403)
    }
  })

  test('requires the password if one is set, and slows down an attacker', async () => {
    const password = new Secret('correct horse battery')
    const lone = await openShop({ password })
    const basic = (text: string) => ({ authorization: `Basic ${btoa(`me:${text}`)}` })
    const see = (headers = {}) => lone.ask('/dashboard', null, { headers })
    const none = await see()
    expect([none.status, none.headers['www-authenticate']]).toEqual([
      401,
      'Basic realm="dashboard", charset="UTF-8"',
    ])
    expect((await see(basic('correct horse battery'))).status).toBe(200)
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, n) => see(basic(`guess ${n}`))),
    )
    expect(guesses.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(10)
    expect(guesses.some(({ status }) => status === 429)).toBe(true)
    const from = (address: string) =>
      see({ ...basic('correct horse battery'), 'x-forwarded-for': address })
    expect((await from('192.0.2.7')).status).toBe(200)
    // Entries before the last address are claims of the client.
    expect((await from('192.0.2.7, 127.0.0.1')).status).toBe(429)
    await lone.service.close()
  })

  test('is at the addresses that people type', async () => {
    for (const path of ['/', '/dashboard', '/dashboard/keys', '/usage']) {
      const response = await fetch(`${shop.service.url}${path}`)
      expect([path, response.status]).toEqual([path, 200])
      const links = [...(await response.text()).matchAll(/href="([^"]+)"/g)]
      expect(links.length).toBeGreaterThan(0)
      for (const [, href = ''] of links) {
        // Relative, because a proxy may add a prefix.
        expect(href).toMatch(/^\.{1,2}\//)
        const { status } = await fetch(new URL(href, `${shop.service.url}${path}`))
        expect([href, status]).toEqual([href, 200])
      }
    }
  })

  test('rejects a form from another site', async () => {
    const before = await shop.service.keys.list()
    for (const site of ['cross-site', 'same-site', 'none']) {
      const sent = form({ kind: 'live' }, { 'sec-fetch-site': site })
      expect((await shop.ask('/dashboard/keys', null, sent)).status).toBe(403)
    }
    const strange = form({ kind: 'live' }, { origin: 'https://evil.example' })
    const { 'sec-fetch-site': _, ...headers } = strange.headers
    expect((await shop.ask('/dashboard/keys', null, { ...strange, headers })).status).toBe(403)
    expect(await shop.service.keys.list()).toEqual(before)
  })

  test('forbids scripts, frames and everything from other origins', async () => {
    const { headers, body } = await shop.ask('/dashboard')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'self';/)
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' })
    expect(String(body)).not.toMatch(/<script|\sstyle=|\son\w+=/)
  })

  test('allows forms nowhere else in the service', async () => {
    expect((await shop.ask('/v1/search?q=a', null, form({}))).status).toBe(405)
  })
})

describe('forms of the dashboard', () => {
  test('that are sent twice create one key, shown once', async () => {
    const sent = form({ ticket: 'once', kind: 'live', plan: 'prepaid', credits: '5', name: '<b>x' })
    const first = String((await shop.ask('/dashboard/keys', null, sent)).body)
    const key = /sk_live_[0-9A-Za-z]{38}/.exec(first)?.[0] ?? ''
    expect((await shop.ask('/v1/search?q=tea', key)).json.credits_remaining).toBe(4)
    expect(first).toContain('&lt;b&gt;x')
    const second = await shop.ask('/dashboard/keys', null, sent)
    expect([second.status, String(second.body).includes(key)]).toEqual([400, false])
    expect(String((await shop.ask('/dashboard')).body)).not.toContain(key)
    const named = (await shop.service.keys.list()).filter(({ name }) => name === '<b>x')
    expect(named).toHaveLength(1)
  })

  test('with invalid values show the problem on the page, and create nothing', async () => {
    const before = (await shop.service.keys.list()).length
    for (const wrong of [
      { kind: 'gold' },
      { kind: 'live', plan: 'prepaid' },
      { kind: 'live', rate: '0' },
      { kind: 'live', account: '99999999' },
      { kind: 'live', plan: 'nonsense' },
    ]) {
      const { status, body } = await shop.ask('/dashboard/keys', null, form(wrong))
      expect(status).toBe(400)
      expect(String(body)).toMatch(/role="alert">/)
    }
    expect((await shop.service.keys.list()).length).toBe(before)
    const unknown = await shop.ask('/dashboard/keys/999999/revoke', null, form({ sure: 'yes' }))
    expect(unknown.status).toBe(404)
    expect(
      (await shop.ask('/dashboard/keys/999999/rotate', null, form({ grace: '1' }))).status,
    ).toBe(400)
  })

  test('revoke a key only after confirmation, and away from the button that saves its name', async () => {
    const { id, key } = await shop.service.keys.create({ kind: 'live', credits: 5 })
    const refused = await shop.ask(`/dashboard/keys/${id}/revoke`, null, form({}))
    expect([refused.status, String(refused.body)]).toEqual([
      400,
      expect.stringContaining('tick the box first'),
    ])
    expect((await shop.ask('/v1/search?q=tea', key)).status).toBe(200)
    const body = String((await shop.ask('/dashboard')).body)
    const row = body.slice(body.indexOf(`/keys/${id}/change`))
    expect(row.indexOf('Save')).toBeLessThan(row.indexOf('<details>'))
    expect(row.indexOf('<details>')).toBeLessThan(row.indexOf(`/keys/${id}/revoke`))
    await shop.ask(`/dashboard/keys/${id}/revoke`, null, form({ sure: 'yes' }))
    expect((await shop.ask('/v1/search?q=tea', key)).status).toBe(403)
  })

  test('replace a key: the new one is shown once, and the old one ends with the grace period', async () => {
    const { id, key, account } = await shop.service.keys.create({
      ...{ kind: 'live', credits: 50, name: 'press' },
    })
    const rotate = (grace: string) =>
      shop.ask(`/dashboard/keys/${id}/rotate`, null, form({ grace }))
    const shown = String((await rotate('1')).body)
    const replacement = /sk_live_[0-9A-Za-z]{38}/.exec(shown)?.[0] ?? ''
    expect(replacement).not.toBe(key)
    for (const one of [key, replacement]) {
      expect((await shop.ask('/v1/search?q=tea', one)).status).toBe(200)
    }
    const [made] = (await shop.service.keys.list()).toReversed()
    expect(made).toMatchObject({ account, name: 'press', credits: 48, revoked_at: null })
    // A form that is sent again replaces nothing.
    expect((await rotate('1')).status).toBe(400)
    const tables = await openTables(shop.databaseUrl, 1)
    await tables.pool.query('update keys set revoked_at = now() where id = $1', [id])
    await tables.close()
    expect((await shop.ask('/v1/search?q=tea', key)).status).toBe(403)
    expect((await shop.ask('/v1/search?q=tea', replacement)).status).toBe(200)
  })

  test('top up prepaid accounts, change plans, and warn of few credits', async () => {
    const { key, account } = await shop.service.keys.create({ kind: 'live', credits: 2 })
    const change = (what: string, fields: Record<string, string>) =>
      shop.ask(`/dashboard/accounts/${account}/${what}`, null, form(fields))
    const left = async () => (await shop.ask('/v1/usage', key)).json.credits_remaining
    for (const q of ['tea', 'coffee']) await shop.ask(`/v1/search?q=${q}`, key)
    expect(String((await shop.ask('/dashboard')).body)).toContain(`Account ${account}: 0 of 2`)
    expect((await change('top-up', { credits: '40' })).status).toBe(303)
    expect(await left()).toBe(40)
    expect(String((await shop.ask('/dashboard')).body)).not.toContain(`Account ${account}: `)
    expect((await change('plan', { plan: 'gold' })).status).toBe(400)
    expect((await change('plan', { plan: 'free' })).status).toBe(303)
    expect(await left()).toBe(1000)
    await shop.ask('/v1/search?q=milk', key)
    // Credits used in the same month count under the new plan too.
    await change('plan', { plan: 'pro' })
    expect(await left()).toBe(49_999)
    const refused = await change('top-up', { credits: '5' })
    expect([refused.status, await left()]).toEqual([400, 49_999])
  })

  test('find keys among many, page by page', async () => {
    const lone = await openShop()
    for (let n = 1; n <= 120; n += 1) {
      await lone.service.keys.create({ kind: 'test', name: `shop ${n}.` })
    }
    const see = async (query: string) => String((await lone.ask(`/dashboard?${query}`)).body)
    const rows = (body: string) => body.match(/<td><code>sk_/g)?.length
    const first = await see('')
    expect([rows(first), first.includes('120 of 120 keys, page 1 of 3')]).toEqual([50, true])
    expect(first).toContain('shop 120.')
    const last = await see('q=&page=3')
    expect([rows(last), last.includes('shop 1.')]).toEqual([20, true])
    const found = await see('q=SHOP+77.')
    expect([rows(found), found.includes('1 of 120 keys')]).toEqual([1, true])
    await lone.service.close()
  })
})

describe('the usage page of customers', () => {
  const see = (key: string, at: Shop = shop) => at.ask('/usage', null, form({ key }))

  test('shows the account of a key, without the password of the dashboard', async () => {
    const lone = await openShop({ password: new Secret('correct horse battery') })
    const key = await lone.live(20)
    const other = await lone.live(777)
    await lone.ask('/v1/search?q=tea', key)
    expect(String((await lone.ask('/usage')).body)).toContain('name="key"')
    const { status, headers, body } = await see(key, lone)
    const text = String(body)
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(text).toContain('19 of 20 credits left')
    for (const secret of [key, other.slice(-4), '777']) expect(text).not.toContain(secret)
    await lone.service.close()
  })

  test('shows nothing for an unknown or revoked key, and warns of few credits', async () => {
    for (const wrong of ['sk_live_nonsense', 'x'.repeat(300)]) {
      expect((await see(wrong)).status).toBe(403)
    }
    const key = await shop.live(1)
    await shop.ask('/v1/search?q=tea', key)
    expect(String((await see(key)).body)).toContain('Less than a tenth of your credits')
    await shop.service.keys.revoke(key)
    expect((await see(key)).status).toBe(403)
  })
})

describe.skipIf(!has('chromium'))(
  'the dashboard in a browser without scripts',
  { tags: ['slow'] },
  () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
    })
    afterAll(() => browser.close())

    async function open(width: number): Promise<Page> {
      const context = await browser.newContext({
        javaScriptEnabled: false,
        viewport: { width, height: 900 },
      })
      const page = await context.newPage()
      await page.goto(`${shop.service.url}/dashboard`)
      return page
    }

    test('creates a key, names and limits it, and revokes it', async () => {
      const page = await open(1200)
      await page.getByLabel('Name', { exact: true }).fill('garden')
      await page.getByLabel('Kind').selectOption('live')
      await page.getByRole('button', { name: 'Create key' }).click()
      const key = (await page.locator('.notice code').textContent()) ?? ''
      expect((await shop.ask('/v1/search?q=tea', key)).status).toBe(200)
      const line = await page.locator('.notice pre').textContent()
      const [, sent = '', address = ''] = /-H "Authorization: (.*)" "(.*)"$/.exec(line ?? '') ?? []
      const answer = await fetch(address, { headers: { authorization: sent } })
      expect(await answer.json()).toMatchObject({ success: true, query: 'css grid layout' })
      const [made] = (await shop.service.keys.list()).toReversed()
      await page.getByLabel(`Name of key ${made?.id}`).fill('orchard')
      await page.getByLabel(`Requests per second for account ${made?.account}`).fill('7')
      await page.getByRole('button', { name: 'Save' }).first().click()
      expect((await shop.service.keys.list()).at(-1)).toMatchObject({ name: 'orchard', rate: 7 })
      await page.getByText('more', { exact: true }).first().click()
      await page.getByLabel('refuse this key permanently').first().check()
      await page.getByRole('button', { name: 'Revoke' }).first().click()
      expect((await shop.ask('/v1/search?q=tea', key)).status).toBe(403)
      expect(await page.locator('tr.gone').first().textContent()).toContain('revoked')
    })

    test.each([1200, 390])('shows usage and fits a window of %i pixels', async (width) => {
      const { id, account } = await shop.service.keys.create({
        kind: 'live',
        plan: 'pro',
        name: 'A shop with a rather long name',
      })
      const tables = await openTables(shop.databaseUrl, 1)
      await tables.pool.query(
        `insert into usage (key_id, account_id, at, period, q, num, reserved, credits, status)
      select ${id}, ${account}, now() - n * interval '7 hours', now()::date, 'q', 10, 9, n % 9, case n % 9 when 0 then 503 else 200 end
      from generate_series(0, 99) as n`,
      )
      await tables.close()
      const page = await open(width)
      expect(await page.locator('table.days').textContent()).toContain(
        'A shop with a rather long name',
      )
      const wide = await page.locator('html').evaluate((element) => element.scrollWidth)
      expect(wide).toBeLessThanOrEqual(width)
      // No table is cut off at the edge of the window.
      const last = await page.locator('table.days th').last().boundingBox()
      expect((last?.x ?? Infinity) + (last?.width ?? 0)).toBeLessThanOrEqual(width)
      if (pictures !== undefined) {
        await page.screenshot({ path: `${pictures}/dashboard-${width}.png`, fullPage: true })
      }
    })
  },
)
