// Access to the desk: sign-in, sign-out, and request origins.

import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Hono } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { HTTPException } from 'hono/http-exception'
import { isForwarded, isLoopback, parseUrl } from '../base/address.ts'
import { Misuse, unreadable } from '../base/errors.ts'
import { Secret } from '../base/secret.ts'
import { type Assets, pageHeaders } from './assets.ts'
import { html } from './drawing/html.ts'
import { layOut } from './layout.ts'

export interface DeskEnv {
  readonly Bindings: HttpBindings
}

function refused(message: string): HTTPException {
  return new HTTPException(403, { message })
}

export type HostGuard = ReturnType<typeof hostGuard>

/** Decides whether to answer a request, based on its headers. */
export function hostGuard(host: string, publicUrl: URL | null, sessions: Sessions | null) {
  const names = namesOf(host, publicUrl)
  return {
    /** Null if no password is set. Without a password, the desk serves only clients on this machine. */
    sessions,
    /** True if the desk is reached over TLS. */
    secure: publicUrl?.protocol === 'https:',
    /** Rejects requests with another host name (DNS rebinding) and requests from other sites' pages. */
    checkSource: (c: Context<DeskEnv>): void => {
      const named = hostOf(c.req.header('host'))
      if (named === null || !(isLoopback(named) || names.has(named))) {
        throw refused(
          'The desk does not accept this host name; open the address that was printed when the desk started.',
        )
      }
      const origin = c.req.header('origin')
      const ours = [`http://${c.req.header('host') ?? ''}`, publicUrl?.origin]
      if (origin !== undefined && !ours.includes(origin)) {
        throw refused(
          'The desk only accepts requests from its own pages; this request came from another site.',
        )
      }
      const site = c.req.header('sec-fetch-site') ?? 'none'
      if (site === 'none' || site === 'same-origin') return
      // A visitor may follow a link from another site. All other cross-site requests are rejected.
      const target = `${c.req.header('sec-fetch-mode')} ${c.req.header('sec-fetch-dest')}`
      if (c.req.method === 'GET' && target === 'navigate document') return
      throw refused('The desk refuses requests from other sites.')
    },
    /** Throws if the visitor may not read pages. Returns false if the visitor must first sign in with the password. */
    admits: (c: Context<DeskEnv>): boolean => {
      if (sessions !== null) return sessions.knows(c)
      if (!isForwarded((name) => c.req.header(name))) return true
      throw refused('Behind a proxy, the desk requires a password; start it with --password-file.')
    },
    /** Accepts a form only if our own page sent it. */
    checkForm: (c: Context<DeskEnv>): void => {
      const site = c.req.header('sec-fetch-site')
      const origin = c.req.header('origin')
      if (site === 'same-origin' || (site === undefined && origin !== undefined)) return
      throw refused('The form was not sent from a desk page.')
    },
  }
}

/** Host names of the desk, other than loopback names. */
function namesOf(host: string, publicUrl: URL | null): ReadonlySet<string> {
  const everywhere = host === '0.0.0.0' || host === '::'
  const own = everywhere
    ? Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map((one) => one.address))
    : [host]
  const names = [...own, ...(everywhere ? [hostname()] : [])]
  if (publicUrl !== null) names.push(hostOf(publicUrl.host) ?? '')
  return new Set(names.map((name) => urlHost(name.toLowerCase())))
}

/** Formats an address for a URL: IPv6 addresses need brackets. */
export function urlHost(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

function hostOf(header: string | undefined): string | null {
  const found = /^(\[[0-9a-f:.]+\]|[^:/?#@\s]+)(?::\d{1,5})?$/i.exec(header ?? '')
  return found?.[1]?.toLowerCase() ?? null
}

const largestForm = 10_000
const cookieFlags = { path: '/', httpOnly: true, sameSite: 'Lax' } as const

/** Adds the forms for signing in and out, which are the only forms that the desk accepts. */
export function addDoor(
  app: Hono<DeskEnv>,
  { guard, assets }: { readonly guard: HostGuard; readonly assets: Assets },
): void {
  const { sessions } = guard
  if (sessions === null) return
  const show = (c: Context<DeskEnv>, problem: string | null, status: 200 | 403 | 429) => {
    const view = { title: 'Password', body: form(localPath(c.req.query('to')), problem) }
    const frame = { assets, pages: [], page: null, leave: false, again: null }
    return c.html(layOut(view, null, frame), status, pageHeaders)
  }
  app.get('/enter', (c) => show(c, null, 200))
  app.post('/enter', async (c) => {
    guard.checkForm(c)
    if (Number(c.req.header('content-length') ?? Infinity) > largestForm)
      throw new HTTPException(413, { message: 'The form is too large.' })
    const typed = new URLSearchParams(await c.req.text()).get('password') ?? ''
    const tried = await sessions.enter(typed, c.env.incoming.socket.remoteAddress ?? '')
    if (tried === 'wait') return show(c, 'Too many wrong passwords; try again in a minute.', 429)
    if (tried === 'wrong') return show(c, 'Wrong password.', 403)
    const maxAge = lastsMs / 1000
    setCookie(c, sessions.cookie, tried.token, { ...cookieFlags, maxAge, secure: guard.secure })
    return c.redirect(localPath(c.req.query('to')), 303)
  })
  app.post('/leave', (c) => {
    guard.checkForm(c)
    sessions.leave(c)
    deleteCookie(c, sessions.cookie, { ...cookieFlags, secure: guard.secure })
    return c.redirect('/enter', 303)
  })
}

/** Accepts only paths on the desk, because a redirect to another site would abuse the visitor's trust. */
function localPath(to: string | undefined): string {
  const base = 'http://desk.invalid'
  const url = to?.startsWith('/') === true ? parseUrl(to, base) : null
  if (url === null || url.origin !== base || url.pathname.startsWith('//')) return '/'
  return url.pathname + url.search
}

function form(to: string, problem: string | null) {
  return html`<form class="enter" method="post" action="/enter?to=${encodeURIComponent(to)}">
    ${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}
    <label
      >Password of this desk
      <input type="password" name="password" autocomplete="current-password" required autofocus
    /></label>
    <button class="main">Open</button>
  </form>`
}

const derive = promisify<string, Buffer, number, Buffer>(scrypt)

const leastLength = 12
const lastsMs = 12 * 3_600_000
const minuteMs = 60_000
const mostWrong = { each: 5, all: 30 }
const mostSessions = 1_000
const keyBytes = 32

type Sessions = ReturnType<typeof openSessions>

/** Sessions of signed-in visitors, kept in memory, so that a restart signs everybody out. */
export function openSessions(password: Secret, port: number) {
  // Cookies are not separated by port, so each desk on a machine uses a different cookie name.
  const cookie = `querymill_desk_${port}`
  const salt = randomBytes(16)
  const expected = derive(password.reveal(), salt, keyBytes)
  const tokens = new Map<string, number>()
  const fingerprintIn = (c: Context) => fingerprint(getCookie(c, cookie) ?? '')
  let wrong: { readonly at: number; readonly from: string }[] = []
  const issue = (now: number): string => {
    for (const [token, ends] of tokens) {
      if (ends <= now || tokens.size >= mostSessions) tokens.delete(token)
    }
    const token = randomBytes(32).toString('base64url')
    tokens.set(fingerprint(token), now + lastsMs)
    return token
  }
  return {
    cookie,
    /** Checks a password in constant time. */
    enter: async (typed: string, from: string) => {
      const now = Date.now()
      wrong = wrong.filter(({ at }) => at > now - minuteMs)
      const mine = wrong.filter((one) => one.from === from).length
      if (mine >= mostWrong.each || wrong.length >= mostWrong.all) return 'wait'
      // Each attempt counts as failed until it succeeds, so that concurrent attempts can't bypass the limit.
      const mark = { at: now, from }
      wrong.push(mark)
      const given = await derive(typed, salt, keyBytes)
      if (!timingSafeEqual(given, await expected)) return 'wrong'
      wrong = wrong.filter((one) => one !== mark)
      return { token: issue(now) }
    },
    knows: (c: Context) => (tokens.get(fingerprintIn(c)) ?? 0) > Date.now(),
    leave: (c: Context) => tokens.delete(fingerprintIn(c)),
  }
}

/** Hashes a token, so that a memory dump contains no tokens. */
function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

export function readPassword(path: string, shown: string): { password: Secret; exposed: boolean } {
  let text: string
  let mode: number
  try {
    text = readFileSync(path, 'utf8')
    mode = statSync(path).mode
  } catch (cause) {
    throw unreadable(shown, cause, 'a folder; name the file in it')
  }
  const line = text.split(/\r?\n/, 1).join('')
  if (line.length < leastLength) {
    throw new Misuse(
      `expected a password of at least ${leastLength} characters on the first line of ${shown}, got ${line.length} characters; choose a longer password`,
    )
  }
  return { password: new Secret(line), exposed: (mode & 0o077) !== 0 }
}
