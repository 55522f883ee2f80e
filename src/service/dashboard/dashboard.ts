// Serves the dashboard: creates, renames, limits and revokes keys, and shows usage.

import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { auth } from 'hono/utils/basic-auth'
import type pg from 'pg'
import { z } from 'zod'
import { isForwarded } from '../../base/address.ts'
import { Misuse } from '../../base/errors.ts'
import type { Secret } from '../../base/secret.ts'
import { dayMs } from '../../base/time/zone.ts'
import type { RateLimiter } from '../credits.ts'
import {
  changeKey,
  changePlan,
  createKey,
  type DoorEnv,
  type IssuedKey,
  keyKinds,
  type KeyRing,
  listKeys,
  revokeKey,
  rotateKey,
  topUp,
} from '../keys.ts'
import { Refusal } from '../refusal.ts'
import { clientOf, isLocal } from '../reply.ts'
import { readAccount, readDays } from '../usage.ts'
import { dashboardStyle, renderDashboard, renderUsage } from './page.ts'

export interface DashboardParts {
  readonly pool: pg.Pool
  readonly keys: KeyRing
  readonly rateLimiter: RateLimiter
  /** If null, the dashboard opens on this machine only. */
  readonly password: Secret | null
  readonly publicUrl: () => string
  readonly basePath: string
}

const pageHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}

const shownDays = 30
const hourMs = 3_600_000
const largestForm = 10_000

/** Adds the routes of the dashboard. */
export function addDashboard(app: OpenAPIHono<DoorEnv>, parts: DashboardParts): void {
  const { pool } = parts
  const guard = new Guard(parts.password, parts.publicUrl)
  const tickets = new Set<string>()
  const path = `${parts.basePath}/dashboard`
  const show = pageOf(parts, path)
  app.use('/dashboard/*', async (c, next) => {
    guard.check(c)
    if (c.req.method === 'POST') guard.checkForm(c)
    await next()
  })
  // A rejected form is shown at its own address, so that browsers can reload and bookmark it.
  for (const shown of ['/dashboard', '/dashboard/keys']) {
    app.get(shown, (c) => show(c, null, null))
  }
  app.get('/dashboard/style.css', sendStyle)
  app.post('/dashboard/keys', (c) =>
    tryForm(c, show, async () => {
      const form = await readForm(c, newShape)
      // Reloading the page that shows a key sends its form again.
      if (tickets.has(form.ticket)) {
        throw new Misuse('This form was sent before: its key was shown then.')
      }
      const issued = await createKey(pool, toOrder(form))
      tickets.add(form.ticket)
      return await show(c, issued, null)
    }),
  )
  addChanges(app, { pool, show, path })
}

/** Adds the forms that change a key or an account. */
function addChanges(
  app: OpenAPIHono<DoorEnv>,
  { pool, show, path }: { readonly pool: pg.Pool; readonly show: ShowPage; readonly path: string },
): void {
  /** `change` returns a new key, or whether there is such a key. */
  const add = <Shape extends z.ZodType>(
    form: string,
    shape: Shape,
    change: (id: number, fields: z.output<Shape>) => Promise<IssuedKey | boolean>,
  ) =>
    app.post(`/dashboard/${form}`, (c) =>
      tryForm(c, show, async () => {
        const done = await change(Number(c.req.param('id')), await readForm(c, shape))
        if (typeof done === 'object') return await show(c, done, null)
        if (!done) throw new Refusal(404, 'There is no such key')
        return c.redirect(path, 303)
      }),
    )
  const key = 'keys/:id{\\d{1,15}}'
  const account = 'accounts/:id{\\d{1,15}}'
  add(`${key}/revoke`, sureShape, (id) => revokeKey(pool, String(id)))
  add(`${key}/rotate`, graceShape, (id, { grace = 24 }) =>
    rotateKey(pool, { id, graceMs: grace * hourMs }),
  )
  add(`${key}/change`, changeShape, (id, { name, rate = null }) =>
    changeKey(pool, { id, name, rate }),
  )
  add(`${account}/top-up`, creditsShape, async (id, { credits = 0 }) => {
    await topUp(pool, { account: id, credits })
    return true
  })
  add(`${account}/plan`, planShape, async (id, { plan }) => {
    await changePlan(pool, { account: id, plan })
    return true
  })
}

/** Adds the page on which customers see the usage of their account with their key. The key is never in an address. */
export function addUsagePage(app: OpenAPIHono<DoorEnv>, parts: DashboardParts): void {
  const path = `${parts.basePath}/usage`
  const style = `${parts.basePath}/usage/style.css`
  const show = (c: Context<DoorEnv>, found: Partial<Parameters<typeof renderUsage>[0]>) => {
    const none = { used: [], account: null, problem: null }
    const page = renderUsage({ path, style, days: lastDays(), ...none, ...found })
    return c.html(page, found.problem === undefined ? 200 : 403, pageHeaders)
  }
  app.get('/usage', (c) => show(c, {}))
  app.get('/usage/style.css', sendStyle)
  app.post('/usage', async (c) => {
    const { key: text } = await readForm(c, keyShape)
    const key = await parts.keys.find(text.trim())
    if (key === null) return show(c, { problem: 'API key is invalid or has been revoked' })
    const { 'x-ratelimit-limit': limit } = await parts.rateLimiter.pass(key)
    const [account, used] = await Promise.all([
      readAccount(parts.pool, key, { days: 1, limit: Number(limit) }),
      readDays(parts.pool, { days: shownDays, account: key.accountId }),
    ])
    return show(c, { account, used })
  })
}

function sendStyle(c: Context<DoorEnv>) {
  return c.body(dashboardStyle, 200, { ...pageHeaders, 'content-type': 'text/css; charset=utf-8' })
}

type ShowPage = ReturnType<typeof pageOf>

/** Returns a function that shows the page, with a new key or with a problem. */
function pageOf({ pool, publicUrl }: DashboardParts, path: string) {
  return async (c: Context<DoorEnv>, issued: IssuedKey | null, problem: string | null) => {
    const keys = await listKeys(pool)
    const used = await readDays(pool, { days: shownDays, account: null })
    const { q: word = '', page: nth = '' } = c.req.query()
    const shown = { word, nth: /^\d{1,6}$/.test(nth) ? Number(nth) : 1 }
    const view = {
      path,
      address: publicUrl(),
      keys,
      shown,
      days: lastDays(),
      used,
      issued,
      problem,
    }
    const page = renderDashboard({ ...view, ticket: randomUUID() })
    return c.html(page, problem === null ? 200 : 400, pageHeaders)
  }
}

/** Shows the page with the problem when a form is not valid. */
async function tryForm(c: Context<DoorEnv>, show: ShowPage, work: () => Promise<Response>) {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Misuse) return await show(c, null, error.message)
    throw error
  }
}

/** The days shown, today last. */
function lastDays(): string[] {
  return Array.from({ length: shownDays }, (_, index) =>
    new Date(Date.now() - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10),
  )
}

async function readForm<Shape extends z.ZodType>(
  c: Context<DoorEnv>,
  shape: Shape,
): Promise<z.output<Shape>> {
  if (Number(c.req.header('content-length') ?? Infinity) > largestForm) {
    throw new Refusal(400, 'The form is too large')
  }
  const form = shape.safeParse(Object.fromEntries(new URLSearchParams(await c.req.text())))
  if (form.success) return form.data
  throw new Misuse(form.error.issues[0]?.message ?? 'The form is not valid')
}

function whole(name: string, least: number, most: number) {
  const error = `${name}: expected a whole number from ${least} to ${most}`
  return z
    .union([z.literal(''), z.string().regex(/^\d{1,15}$/, { error })], { error })
    .optional()
    .transform((text) => (text === undefined || text === '' ? undefined : Number(text)))
    .refine((value) => value === undefined || (value >= least && value <= most), { error })
}

const nameField = z
  .string()
  .max(100, { error: 'Name: expected at most 100 characters' })
  .default('')
const rate = whole('Requests a second', 1, 1_000_000)
const changeShape = z.object({ name: nameField, rate })
const sureShape = z.object({
  sure: z.literal('yes', { error: 'Revoke: tick the box first, because it cannot be undone' }),
})
const graceShape = z.object({ grace: whole('Hours', 0, 8760) })
const creditsShape = z.object({ credits: whole('Credits', 1, 1_000_000_000_000) })
const planShape = z.object({ plan: z.string() })
const keyShape = z.object({ key: z.string().max(200).default('') })
const newShape = z.object({
  ticket: z.string().default(''),
  name: nameField,
  rate,
  kind: z.enum(keyKinds),
  plan: z.string().default('free'),
  credits: whole('Credits', 0, 1_000_000_000_000),
  account: whole('Account', 1, Number.MAX_SAFE_INTEGER),
})

function toOrder({ kind, name, plan, credits, account, rate: limit }: z.output<typeof newShape>) {
  // A test key spends no credits, and a key of an existing account has the plan and rate of that account.
  if (kind === 'test') return { kind, name, account }
  if (plan !== 'prepaid') return { kind, name, account, rate: limit, plan }
  if (account === undefined && credits === undefined) {
    throw new Misuse('Credits: expected the number of prepaid credits, got nothing')
  }
  return { kind, name, account, rate: limit, credits: credits ?? 0 }
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
const wrongAMinute = 10

/** Admits clients on this machine or, if a password is set, clients that send it. */
class Guard {
  readonly #password: Secret | null
  readonly #publicUrl: () => string
  #wrong: { readonly client: string; readonly at: number }[] = []

  constructor(password: Secret | null, publicUrl: () => string) {
    this.#password = password
    this.#publicUrl = publicUrl
  }

  /** Throws a refusal for every other client. */
  check(c: Context<DoorEnv>): void {
    if (this.#password === null) {
      if (isHere(c)) return
      const text =
        'The dashboard opens on its own machine only; SERVICE_PASSWORD opens it elsewhere'
      throw new Refusal(403, text)
    }
    const client = clientOf(c)
    this.#wrong = this.#wrong.filter(({ at }) => at > Date.now() - 60_000)
    // Each client is counted separately, so that an attacker can't lock the operator out.
    if (this.#wrong.filter((one) => one.client === client).length >= wrongAMinute) {
      throw new Refusal(429, 'Too many wrong passwords', { 'retry-after': '60' })
    }
    const given = auth(c.req.raw)?.password
    if (given !== undefined && isSame(given, this.#password.reveal())) return
    if (given !== undefined) this.#wrong.push({ client, at: Date.now() })
    const headers = { 'www-authenticate': 'Basic realm="dashboard", charset="UTF-8"' }
    throw new Refusal(401, 'The dashboard needs its password', headers)
  }

  /** Accepts a form only from our own page, to prevent cross-site request forgery. */
  checkForm(c: Context<DoorEnv>): void {
    const site = c.req.header('sec-fetch-site')
    const origin = c.req.header('origin')
    const own = [new URL(this.#publicUrl()).origin, `http://${c.req.header('host') ?? ''}`]
    if (site === 'same-origin' || (site === undefined && own.includes(origin ?? ''))) return
    throw new Refusal(403, 'The form was not sent by the dashboard')
  }
}

/**
 * True for a client on this machine. Checks the Host header too, because DNS rebinding can make another site's name
 * resolve to this machine.
 */
function isHere(c: Context<DoorEnv>): boolean {
  if (isForwarded((name) => c.req.header(name))) return false
  return isLocal(c.env.incoming.socket) && loopback.test(c.req.header('host') ?? '')
}

function isSame(given: string, password: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', password, 'buffer'))
}
