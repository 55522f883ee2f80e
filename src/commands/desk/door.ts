import type { Context, Hono } from 'hono'
import { html } from '../drawing/html.ts'
import type { Assets } from './assets.ts'
import { Refused, type DeskEnv, type Doorkeeper } from './guard.ts'
import { layOut } from './layout.ts'
import { pageHeaders } from './policy.ts'

const largestForm = 10_000

/** Logging in and out: the only forms that the desk takes. */
export function addDoor(
  app: Hono<DeskEnv>,
  { guard, assets }: { readonly guard: Doorkeeper; readonly assets: Assets },
): void {
  const { sessions } = guard
  if (sessions === null) return
  const show = (c: Context<DeskEnv>, problem: string | null, status: 200 | 403 | 429) => {
    const view = { title: 'Password', body: form(localPath(c.req.query('to')), problem) }
    const frame = { assets, nav: [], path: '', leave: false, live: false, again: null }
    return c.html(layOut(view, null, frame), status, pageHeaders)
  }
  app.get('/enter', (c) => show(c, null, 200))
  app.post('/enter', async (c) => {
    guard.checkForm(c)
    const typed = (await readForm(c)).get('password') ?? ''
    const tried = await sessions.enter(typed, c.env.incoming.socket.remoteAddress ?? '')
    if (tried.kind === 'wait') return show(c, 'Too many wrong passwords: wait a minute.', 429)
    if (tried.kind === 'wrong') return show(c, 'This is not the password.', 403)
    c.header('set-cookie', sessions.header(tried.token, guard.secure))
    return c.redirect(localPath(c.req.query('to')), 303)
  })
  app.post('/leave', (c) => {
    guard.checkForm(c)
    sessions.leave(c.req.header('cookie'))
    c.header('set-cookie', sessions.header(null, guard.secure))
    return c.redirect('/enter', 303)
  })
}

/** Where a visitor was going who has to show the password first. */
export function cameFrom(c: Context<DeskEnv>): string {
  const { pathname, search } = new URL(c.req.url)
  return pathname + search
}

/** A path of the desk and nothing else: an address of another site would send a visitor there who trusts this one. */
function localPath(to: string | undefined): string {
  const base = 'http://desk.invalid'
  if (to === undefined || !to.startsWith('/') || !URL.canParse(to, base)) return '/'
  const { origin, pathname, search } = new URL(to, base)
  return origin === base && !pathname.startsWith('//') ? pathname + search : '/'
}

async function readForm(c: Context<DeskEnv>): Promise<URLSearchParams> {
  if (Number(c.req.header('content-length') ?? Infinity) > largestForm) {
    throw new Refused(413, 'The form is too large.')
  }
  return new URLSearchParams(await c.req.text())
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
