// Serves the dashboard: creates, renames, limits and revokes keys, and shows usage.

import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { auth } from 'hono/utils/basic-auth'
import { z } from 'zod'
import { isForwarded, isLoopback, parseUrl } from '../../base/address.ts'
import { Misuse } from '../../base/errors.ts'
import { root } from '../../base/root.ts'
import type { Secret } from '../../base/secret.ts'
import { type DoorEnv, type IssuedKey, keyKinds, type Keys } from '../keys.ts'
import { Refusal } from '../refusal.ts'
import { clientOf, isLocal } from '../reply.ts'
import { renderDashboard, renderUsage, renderUsageForm, shownDays } from './page.ts'

export interface DashboardParts {
  readonly keys: Keys
  /** Without a password, the dashboard is available only on this machine. */
  readonly password: Secret | null
  readonly publicUrl: () => string
}

const pageHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}

export function addDashboard(app: OpenAPIHono<DoorEnv>, parts: DashboardParts): void {
  const checkClient = guard(parts.password)
  app.use('/dashboard/*', async (c, next) => {
    checkClient(c)
    if (c.req.method === 'POST') checkForm(c, parts.publicUrl())
    await next()
  })
  // After a form is submitted, the page keeps the form's address, which users may reload or bookmark.
  for (const shown of ['/dashboard', '/dashboard/keys']) app.get(shown, (c) => show(c, parts))
  addForms(app, parts)
  // A page on which customers enter a key to see the usage of an account.
  app.get('/usage', (c) => c.html(renderUsageForm(), 200, pageHeaders))
  // The dashboard also uses this style sheet. Addresses under /dashboard may require the password.
  const style = readFileSync(join(root, 'src', 'service', 'dashboard', 'dashboard.css'), 'utf8')
  app.get('/usage/style.css', (c) =>
    c.body(style, 200, { ...pageHeaders, 'content-type': 'text/css; charset=utf-8' }),
  )
  app.post('/usage', async (c) => {
    const form = await readForm(c, { key: z.string().default('') })
    const key = await parts.keys.find(form.key.trim())
    if (key === null) {
      const problem = 'API key is invalid or has been revoked'
      return c.html(renderUsageForm(problem), 403, pageHeaders)
    }
    const used = await parts.keys.usage({ days: shownDays, account: key.accountId })
    return c.html(renderUsage(key, used), 200, pageHeaders)
  })
}

async function show(
  c: Context,
  parts: DashboardParts,
  said: { issued?: IssuedKey; problem?: string } = {},
) {
  const { keys, publicUrl } = parts
  const { q: word = '', page: nth = '' } = c.req.query()
  const page = renderDashboard({
    ...said,
    root: rootOf(c),
    address: publicUrl(),
    keys: await keys.list(),
    shown: { word, nth: /^\d{1,6}$/.test(nth) ? Number(nth) : 1 },
    used: await keys.usage({ days: shownDays }),
    ticket: randomUUID(),
  })
  return c.html(page, said.problem === undefined ? 200 : 400, pageHeaders)
}

function addForms(app: OpenAPIHono<DoorEnv>, parts: DashboardParts): void {
  const { keys } = parts
  /** Adds the route for a form. `change` returns a new key to show, or false if the key does not exist. */
  const addForm = <Shape extends z.ZodRawShape>(
    path: string,
    shape: Shape,
    change: (
      fields: z.output<z.ZodObject<Shape>>,
      id: number,
    ) => Promise<IssuedKey | boolean | number>,
  ) =>
    app.post(`/dashboard/${path}`, async (c) => {
      try {
        const done = await change(await readForm(c, shape), Number(c.req.param('id')))
        if (typeof done === 'object') return await show(c, parts, { issued: done })
        if (done === false) throw new Refusal(404, 'There is no such key')
        return c.redirect(`${rootOf(c)}dashboard`, 303)
      } catch (error) {
        if (error instanceof Misuse) return await show(c, parts, { problem: error.message })
        throw error
      }
    })
  const tickets = new Set<string>()
  addForm('keys', newKey, async ({ ticket, plan, credits, ...form }) => {
    // If a user reloads the page that shows a new key, the browser sends the form again.
    if (tickets.has(ticket)) throw new Misuse('This form was already sent, and its key was shown.')
    const isPrepaid = plan === 'prepaid'
    if (isPrepaid && form.account === undefined && credits === undefined) {
      throw new Misuse('Credits: expected a number of prepaid credits, got nothing')
    }
    const issued = await keys.create({ ...form, ...(isPrepaid ? { credits } : { plan }) })
    tickets.add(ticket)
    return issued
  })
  const key = 'keys/:id{\\d{1,15}}'
  const account = 'accounts/:id{\\d{1,15}}'
  addForm(`${key}/revoke`, { sure: sureField }, (_, id) => keys.revoke(String(id)))
  addForm(`${key}/rotate`, { grace: whole('Hours', 0, 8760) }, ({ grace = 24 }, id) =>
    keys.rotate({ id, graceMs: grace * 3_600_000 }),
  )
  addForm(`${key}/change`, { name: nameField, rate: rateField }, ({ name, rate = null }, id) =>
    keys.change({ id, name, rate }),
  )
  addForm(`${account}/top-up`, { credits: moreField }, ({ credits = 0 }, id) =>
    keys.topUp({ account: id, credits }),
  )
  addForm(`${account}/plan`, { plan: z.string() }, ({ plan }, id) =>
    keys.changePlan({ account: id, plan }),
  )
}

/** Returns the relative path from the requested page to the service's root. */
function rootOf(c: Context): string {
  return '../'.repeat(c.req.path.split('/').length - 2) || './'
}

async function readForm<Shape extends z.ZodRawShape>(c: Context, shape: Shape) {
  if (Number(c.req.header('content-length') ?? Infinity) > 10_000) {
    throw new Refusal(400, 'The form is too large')
  }
  const fields = Object.fromEntries(new URLSearchParams(await c.req.text()))
  const form = z.object(shape).safeParse(fields)
  if (form.success) return form.data
  throw new Misuse(form.error.issues[0]?.message ?? 'The form is not valid')
}

function whole(name: string, least: number, most: number) {
  const error = `${name}: expected a whole number from ${least} to ${most}`
  return z
    .string()
    .transform((text) => (text === '' ? undefined : Number(text)))
    .pipe(z.int({ error }).min(least, { error }).max(most, { error }).optional())
    .optional()
}

const nameField = z
  .string()
  .max(100, { error: 'Name: expected at most 100 characters' })
  .default('')
const sureField = z.literal('yes', {
  error: 'Revoke: tick the box first, because revoking a key cannot be undone',
})
const moreField = whole('Credits', 1, 1_000_000_000_000)
const rateField = whole('Requests per second', 1, 1_000_000)
const newKey = {
  ticket: z.string().default(''),
  name: nameField,
  rate: rateField,
  kind: z.enum(keyKinds),
  plan: z.string().default('free'),
  credits: whole('Credits', 0, 1_000_000_000_000),
  account: whole('Account', 1, Number.MAX_SAFE_INTEGER),
}

/** Admits clients on this machine or, if a password is set, clients that send the password. */
function guard(password: Secret | null): (c: Context<DoorEnv>) => void {
  let wrong: { readonly client: string; readonly at: number }[] = []
  return (c) => {
    if (password === null) {
      if (isHere(c)) return
      const problem = 'The dashboard can be opened only on the machine that it runs on'
      throw new Refusal(403, `${problem}; set SERVICE_PASSWORD to allow access from other machines`)
    }
    const client = clientOf(c)
    wrong = wrong.filter(({ at }) => at > Date.now() - 60_000)
    // Wrong passwords are counted for each client, so that an attacker cannot lock out the operator.
    if (wrong.filter((one) => one.client === client).length >= 10) {
      throw new Refusal(429, 'Too many wrong passwords', { 'retry-after': '60' })
    }
    const given = auth(c.req.raw)?.password
    if (given !== undefined) {
      if (timingSafeEqual(digest(given), digest(password.reveal()))) return
      wrong.push({ client, at: Date.now() })
    }
    const headers = { 'www-authenticate': 'Basic realm="dashboard", charset="UTF-8"' }
    throw new Refusal(401, 'The dashboard requires a password', headers)
  }
}

function digest(password: string): Buffer {
  return hash('sha256', password, 'buffer')
}

/** Checks the Host header too, because DNS rebinding can make another site's name resolve to this machine. */
function isHere(c: Context<DoorEnv>): boolean {
  if (isForwarded((name) => c.req.header(name))) return false
  const host = parseUrl(`http://${c.req.header('host')}`)?.hostname ?? ''
  return isLocal(c.env.incoming.socket) && isLoopback(host)
}

/** Accepts a form only from a page of this service, to prevent cross-site request forgery. */
function checkForm(c: Context<DoorEnv>, publicUrl: string): void {
  const site = c.req.header('sec-fetch-site')
  const own = [new URL(publicUrl).origin, `http://${c.req.header('host') ?? ''}`]
  if (site === 'same-origin') return
  if (site === undefined && own.includes(c.req.header('origin') ?? '')) return
  throw new Refusal(403, 'The form was not sent by the dashboard')
}
