import { describe, expect, test } from 'vitest'
import { openDesk } from '../support/desk.ts'
import { deskScene } from './scene.ts'

const scene = deskScene()

describe('a desk on this machine', () => {
  test('accepts its own host names, and no name of another site that leads here', async () => {
    for (const host of [
      `127.0.0.1:${scene.desk.port}`,
      `localhost:${scene.desk.port}`,
      'LOCALHOST',
      '[::1]',
    ]) {
      expect((await scene.desk.get('/', { headers: { host } })).status, host).toBe(200)
    }
    const strange = ['evil.example', '127.0.0.1.evil.example', 'localhost@evil.example', '10.0.0.1']
    for (const host of strange) {
      const { status, text } = await scene.desk.get('/', { headers: { host } })
      expect(status, host).toBeGreaterThanOrEqual(400)
      expect(text, host).not.toContain('Overview')
    }
  })

  test('refuses a request from another site, and allows a link from one', async () => {
    const site = (value: string) => ({ 'sec-fetch-site': value })
    for (const headers of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: `http://localhost:${scene.desk.port + 1}` },
      site('cross-site'),
      site('same-site'),
      { ...site('cross-site'), 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      { ...site('cross-site'), 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    ]) {
      expect((await scene.desk.get('/', { headers })).status, JSON.stringify(headers)).toBe(403)
    }
    const link = {
      ...site('cross-site'),
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    expect((await scene.desk.get('/', { headers: link })).status).toBe(200)
    expect((await scene.desk.get('/', { headers: site('same-origin') })).status).toBe(200)
  })

  test('admits no visitor without a password behind a proxy', async () => {
    const { status, text } = await scene.desk.get('/', {
      headers: { 'x-forwarded-for': '1.2.3.4' },
    })
    expect(status).toBe(403)
    expect(text).toContain('--password-file')
  })

  test('sends pages that load nothing from elsewhere and may not be framed', async () => {
    const { headers, text } = await scene.desk.get('/')
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'self'; script-src 'self';/,
    )
    expect(headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' })
    expect(text).not.toMatch(/<script(?! src="\/assets\/)|<style|\sstyle=|\son\w+=|https?:\/\//)
  })

  test('serves files from a list, not from a path', async () => {
    for (const path of [
      '/assets/../../../package.json',
      '/assets/%2e%2e/desk.css',
      '/assets/x/desk.css',
      '//etc/passwd',
      '/assets/',
    ]) {
      expect((await scene.desk.get(path)).status, path).toBe(404)
    }
  })

  test('answers only read requests', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      expect(
        (await scene.desk.get('/', { method, headers: { 'content-length': '0' } })).status,
        method,
      ).toBe(404)
    }
  })
})

describe('a desk with a password', () => {
  const password = 'correct horse battery'
  const form = (typed: string) => ({
    method: 'POST',
    body: new URLSearchParams({ password: typed }).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(new URLSearchParams({ password: typed }).toString().length),
      'sec-fetch-site': 'same-origin',
    },
  })

  test('reads nothing before it is given, and then redirects visitors to the page that they requested', async () => {
    const closed = await openDesk(scene.url, { password })
    const first = await closed.get('/?suspects=show')
    expect([first.status, first.headers.location]).toEqual([303, '/enter?to=%2F%3Fsuspects%3Dshow'])
    const live = await closed.get('/live?page=/operations', {
      headers: { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' },
    })
    expect(live.status).toBe(401)
    const page = await closed.get('/enter?to=%2F%3Fsuspects%3Dshow')
    expect(page.text).toContain('type="password"')
    expect(page.text).not.toContain('Overview')
    const entered = await closed.get('/enter?to=%2F%3Fsuspects%3Dshow', form(password))
    expect([entered.status, entered.headers.location]).toEqual([303, '/?suspects=show'])
    const [cookie = ''] = entered.headers['set-cookie'] ?? []
    expect(cookie).toMatch(
      /^querymill_desk_\d+=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const own = { cookie: cookie.split(';', 1).join('') }
    expect((await closed.get('/', { headers: own })).status).toBe(200)
    const left = await closed.get('/leave', {
      ...form(''),
      headers: { ...form('').headers, ...own },
    })
    expect(left.status).toBe(303)
    expect((await closed.get('/', { headers: own })).status).toBe(303)
    await closed.close()
  })

  test('sends no more events to a page whose visitor has signed out', async () => {
    const closed = await openDesk(scene.url, { password })
    const entered = await closed.get('/enter', form(password))
    const own = { cookie: (entered.headers['set-cookie']?.[0] ?? '').split(';', 1).join('') }
    // Ends when the desk ends it.
    const heard = closed.get('/live?page=/operations', {
      headers: { ...own, 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' },
    })
    await closed.get('/leave', { ...form(''), headers: { ...form('').headers, ...own } })
    expect((await heard).status).toBe(200)
    await closed.close()
  })

  test('slows down an attacker, even with many concurrent tries', async () => {
    const closed = await openDesk(scene.url, { password })
    const tries = await Promise.all(
      Array.from({ length: 40 }, (_, n) => closed.get('/enter', form(`guess ${n}`))),
    )
    expect(tries.filter(({ status }) => status === 403).length).toBeLessThanOrEqual(5)
    expect(tries.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(35)
    expect((await closed.get('/enter', form(password))).status).toBe(429)
    await closed.close()
  })

  test('redirects to no other site, and accepts no form from one', async () => {
    const closed = await openDesk(scene.url, { password })
    for (const to of [
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '/.//evil.example',
      'javascript:alert(1)',
    ]) {
      const entered = await closed.get(`/enter?to=${encodeURIComponent(to)}`, form(password))
      expect(entered.headers.location, to).toBe('/')
    }
    const strange = form(password)
    const other = { ...strange, headers: { ...strange.headers, 'sec-fetch-site': 'cross-site' } }
    expect((await closed.get('/enter', other)).status).toBe(403)
    await closed.close()
  })

  test('behind TLS sends the cookie only over TLS', async () => {
    const closed = await openDesk(scene.url, { password, publicUrl: 'https://desk.example.com' })
    const host = {
      host: 'desk.example.com',
      'x-forwarded-for': '1.2.3.4',
      origin: 'https://desk.example.com',
    }
    const { headers } = form(password)
    const entered = await closed.get('/enter', {
      ...form(password),
      headers: { ...headers, ...host },
    })
    expect(entered.headers['set-cookie']?.[0]).toMatch(/; Secure;/)
    await closed.close()
  })
})
