// Issues, finds, changes and revokes API keys, and defines plans and prices.

import { npmRun } from '../base/cli/commands.ts'
import { hash, randomInt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { HttpBindings } from '@hono/node-server'
import { createMiddleware } from 'hono/factory'
import type pg from 'pg'
import { Misuse } from '../base/errors.ts'
import { Refusal } from './refusal.ts'

export interface NewKey {
  readonly kind: KeyKind
  /** Prepaid credits of a new account. */
  readonly credits?: number | undefined
  /** A plan that renews each month, in place of prepaid credits. */
  readonly plan?: string | undefined
  /** An existing account, for a key that replaces another without a gap. */
  readonly account?: number | undefined
  /** A note of the purpose of the key. */
  readonly name?: string | undefined
  /** The limit of requests per second. */
  readonly rate?: number | undefined
}

export interface IssuedKey {
  readonly id: number
  /** The key itself; shown only once. */
  readonly key: string
  readonly kind: KeyKind
  readonly credits: number
  readonly account: number
}

/** Issues a key and stores only its hash. */
export async function createKey(pool: pg.Pool, order: NewKey): Promise<IssuedKey> {
  const account = await findOrOpenAccount(pool, order)
  const key = makeKey(order.kind)
  const { rows } = await pool.query<{ id: number }>(
    'insert into keys (account_id, kind, hash, tail, name) values ($1, $2, $3, $4, $5) returning id',
    [account.id, order.kind, hashKey(key), key.slice(-4), order.name ?? ''],
  )
  return {
    id: rows[0]?.id ?? 0,
    key,
    kind: order.kind,
    credits: account.remaining,
    account: account.id,
  }
}

interface AccountRow {
  readonly id: number
  readonly remaining: number
}

async function findOrOpenAccount(pool: pg.Pool, order: NewKey): Promise<AccountRow> {
  if (order.account !== undefined) {
    const { rows } = await pool.query<AccountRow>(
      `select id, quota - case when ${renewalIsDue} then 0 else used end as remaining from accounts where id = $1`,
      [order.account],
    )
    if (rows[0] !== undefined) return rows[0]
    throw new Misuse(
      `expected an account, got ${order.account}; ${npmRun('keys --')} list shows them`,
    )
  }
  const prepaid = order.plan === undefined && order.credits !== undefined
  const plan = prepaid ? 'prepaid' : (order.plan ?? 'free')
  const quota = order.credits ?? quotas[plan]
  if (quota === undefined) {
    throw new Misuse(`expected a plan (${planNames.join(', ')}), got ${plan}`)
  }
  const { rows } = await pool.query<AccountRow>(
    'insert into accounts (plan, quota, renews, rate) values ($1, $2, $3, $4) returning id, quota as remaining',
    [plan, quota, !prepaid, order.rate ?? null],
  )
  return rows[0] ?? { id: 0, remaining: 0 }
}

/** SQL condition for keys that are not revoked, and for replaced ones during their grace time. */
const isValid = '(keys.revoked_at is null or keys.revoked_at > now())'

/** Issues a key that replaces another; the old one stays valid for the grace time. */
export async function rotateKey(
  pool: pg.Pool,
  { id, graceMs }: { readonly id: number; readonly graceMs: number },
): Promise<IssuedKey> {
  const kinds = await pool.query<{ kind: KeyKind }>('select kind from keys where id = $1', [id])
  const kind = kinds.rows[0]?.kind ?? 'test'
  const key = makeKey(kind)
  const { rows } = await pool.query<{ id: number; account: number }>(
    `with old as (
      update keys set revoked_at = now() + make_interval(secs => $2)
      where id = $1 and revoked_at is null
      returning account_id, kind, name
    )
    insert into keys (account_id, kind, hash, tail, name)
    select account_id, kind, $3, $4, name from old
    returning id, account_id as account`,
    [id, graceMs / 1000, hashKey(key), key.slice(-4)],
  )
  const [issued] = rows
  if (issued === undefined) {
    throw new Misuse('expected a key that is neither revoked nor replaced, got another')
  }
  const { remaining } = await findOrOpenAccount(pool, { kind, account: issued.account })
  return { ...issued, key, kind, credits: remaining }
}

/** Adds prepaid credits to an account, and returns its balance. */
export async function topUp(
  pool: pg.Pool,
  { account, credits }: { readonly account: number; readonly credits: number },
): Promise<number> {
  const { rows } = await pool.query<{ remaining: number }>(
    `update accounts set quota = quota + $2
    where id = $1 and not renews
    returning quota - used as remaining`,
    [account, credits],
  )
  if (rows[0] !== undefined) return rows[0].remaining
  throw new Misuse(
    'expected an account with prepaid credits, got another; the credits of a plan renew each month',
  )
}

/** Gives an account a plan, and returns its balance. Credits used this month under another plan count. */
export async function changePlan(
  pool: pg.Pool,
  { account, plan }: { readonly account: number; readonly plan: string },
): Promise<number> {
  const quota = quotas[plan]
  if (quota === undefined) {
    throw new Misuse(`expected a plan (${planNames.join(', ')}), got ${plan}`)
  }
  const { rows } = await pool.query<{ remaining: number }>(
    `update accounts
    set
      plan = $2,
      quota = greatest($3, held),
      used = case when renews and not ${renewalIsDue} then least(used, greatest($3, held) - held) else 0 end,
      renews = true,
      period = date_trunc('month', now() at time zone 'utc')::date
    where id = $1
    returning quota - used as remaining`,
    [account, plan, quota],
  )
  if (rows[0] !== undefined) return rows[0].remaining
  throw new Misuse(`expected an account, got ${account}; ${npmRun('keys --')} list shows them`)
}

/** Revokes a key, given by its number or in full, at once and permanently. Returns false when there is no such key. */
export async function revokeKey(pool: pg.Pool, given: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'update keys set revoked_at = least(revoked_at, now()) where id = $1 or hash = $2',
    [/^\d{1,15}$/.test(given) ? Number(given) : null, hashKey(given)],
  )
  return rowCount === 1
}

export interface ListedKey {
  readonly id: number
  readonly kind: KeyKind
  readonly key: string
  readonly name: string
  readonly account: number
  readonly plan: string
  readonly quota: number
  readonly credits: number
  /** The account's own limit of requests per second; null if it has none. */
  readonly rate: number | null
  readonly created_at: Date
  readonly last_used_at: Date | null
  /** Time from which the key is refused; later than now for a replaced key in its grace time. */
  readonly revoked_at: Date | null
}

/** True for a key that is refused; false for a replaced one during its grace time. */
export function isRevoked({ revoked_at: at }: Pick<ListedKey, 'revoked_at'>): boolean {
  return at !== null && at.getTime() <= Date.now()
}

/** True if less than a tenth of the credits is left. */
export function isLow({ credits, quota }: Pick<ListedKey, 'credits' | 'quota'>): boolean {
  return credits < quota / 10
}

/** Lists every issued key, masked. */
export async function listKeys(pool: pg.Pool): Promise<ListedKey[]> {
  const { rows } = await pool.query<ListedKey>(`
    select
      keys.id,
      keys.kind,
      'sk_' || keys.kind || '_…' || keys.tail as key,
      keys.name,
      accounts.id as account,
      accounts.plan,
      accounts.quota,
      accounts.quota - case when ${renewalIsDue} then 0 else accounts.used end as credits,
      accounts.rate,
      keys.created_at,
      keys.last_used_at,
      keys.revoked_at
    from keys
    join accounts on accounts.id = keys.account_id
    order by keys.id`)
  return rows
}

/** Changes the name of a key and the limit of its account. Returns false when there is no such key. */
export async function changeKey(
  pool: pg.Pool,
  { id, name, rate }: { id: number; name: string; rate: number | null },
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `with changed as (update keys set name = $2 where id = $1 returning account_id)
    update accounts set rate = $3 from changed where accounts.id = changed.account_id`,
    [id, name, rate],
  )
  return rowCount === 1
}

export const keyKinds = ['live', 'test'] as const
type KeyKind = (typeof keyKinds)[number]

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const checkLength = 6
const shape = /^sk_(live|test)_[0-9A-Za-z]{38}$/

/** Makes a key: its kind, 190 random bits, and a checksum that tells a typing error from a revoked key. */
export function makeKey(kind: KeyKind): string {
  const secret = Array.from({ length: 32 }, () => digits.charAt(randomInt(digits.length)))
  const body = `sk_${kind}_${secret.join('')}`
  return body + checksum(body)
}

/** The kind of a key that this service issued; null for any other text. */
export function keyKind(key: string): KeyKind | null {
  const kind = shape.exec(key)?.[1]
  if (kind !== 'live' && kind !== 'test') return null
  return key.endsWith(checksum(key.slice(0, -checkLength))) ? kind : null
}

/** The stored hash of a key. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let place = 0; place < checkLength; place += 1) {
    text = digits.charAt(rest % digits.length) + text
    rest = Math.floor(rest / digits.length)
  }
  return text
}

// Far more than anyone uses, and far below 2^53, so that the reported balance stays exact.
const endless = 1_000_000_000_000

/** Credits of each month by plan. Spec gap 8: the quotas are ours. */
const quotas: Readonly<Record<string, number>> = { free: 1_000, pro: 50_000, unlimited: endless }

/** The plans whose credits renew each month. */
export const planNames = Object.keys(quotas)

/**
 * Spec gap 8: one credit per ten results, rounded up, from 1 to 10. An empty answer costs one, because a search was
 * made.
 */
export function cost(results: number): number {
  return Math.min(10, Math.max(1, Math.ceil(results / 10)))
}

/** SQL condition for accounts whose month has ended; their next request renews them. */
export const renewalIsDue =
  "(accounts.renews and accounts.period < date_trunc('month', now() at time zone 'utc')::date)"

/** The key of a request, with the state of its account. */
export interface FoundKey {
  readonly id: number
  readonly accountId: number
  readonly kind: KeyKind
  readonly rate: number | null
  readonly remaining: number
  /** The next renewal; null for prepaid credits. */
  readonly renewsAt: Date | null
}

interface KeyRow extends FoundKey {
  readonly hash: Buffer
  /** True if the last use is to be recorded. */
  readonly stale: boolean
}

/**
 * Looks up keys in the database, never in memory, so that a revoked key is refused at once. Concurrent requests share a
 * query.
 */
export class KeyRing {
  readonly #pool: pg.Pool
  #hashes: Buffer[] = []
  #found: Promise<readonly KeyRow[]> | null = null

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Finds a key; null if it is unknown or revoked. A mistyped key causes no query. */
  async find(key: string): Promise<FoundKey | null> {
    if (keyKind(key) === null) return null
    const wanted = hashKey(key)
    this.#hashes.push(wanted)
    this.#found ??= setImmediate().then(() => this.#look())
    const rows = await this.#found
    return rows.find((row) => row.hash.equals(wanted)) ?? null
  }

  async #look(): Promise<readonly KeyRow[]> {
    const hashes = this.#hashes
    this.#hashes = []
    this.#found = null
    const { rows } = await this.#pool.query<KeyRow>({
      name: 'find-keys',
      text: `
        select
          keys.hash,
          keys.id,
          keys.account_id as "accountId",
          keys.kind,
          accounts.rate,
          accounts.quota - case when ${renewalIsDue} then 0 else accounts.used end as remaining,
          case
            when accounts.renews then (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'
          end as "renewsAt",
          coalesce(keys.last_used_at < now() - interval '1 minute', true) as stale
        from keys
        join accounts on accounts.id = keys.account_id
        where keys.hash = any($1)
          and ${isValid}`,
      values: [hashes],
    })
    const stale = rows.filter((row) => row.stale).map(({ id }) => id)
    // No request waits for this write. If it is lost, the next use of the key repeats it.
    if (stale.length > 0) this.#noteUse(stale).catch(() => undefined)
    return rows
  }

  /** Records the last use to the minute: a write at every request would cost more than the request. */
  async #noteUse(ids: readonly number[]): Promise<void> {
    await this.#pool.query({
      name: 'note-use',
      text: "update keys set last_used_at = now() where id = any($1) and coalesce(last_used_at < now() - interval '1 minute', true)",
      values: [ids],
    })
  }
}

export interface DoorEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    key: FoundKey
    /** Rate limit headers of the response. */
    rate: Record<string, string>
  }
}

/** Checks the key of a request before anything else. */
export function askForKey(keys: KeyRing) {
  return createMiddleware<DoorEnv>(async (c, next) => {
    const text = sentKey(c.req.header('authorization'), c.req.queries('api_key'))
    if (text === null) {
      throw new Refusal(401, 'Invalid or missing API key', { 'www-authenticate': 'Bearer' })
    }
    const key = await keys.find(text)
    // One message for unknown, mistyped and revoked keys, so that an attacker learns nothing from it.
    if (key === null) throw new Refusal(403, 'API key is invalid or has been revoked')
    c.set('key', key)
    await next()
  })
}

// Spec gap 5.2: a Bearer header wins over the parameter, valid or not; any other scheme counts as no header.
function sentKey(header: string | undefined, params: string[] | undefined): string | null {
  const bearer = header === undefined ? null : /^bearer(?:\s+(.*))?$/i.exec(header.trim())
  if (bearer !== null) return bearer[1]?.trim() || null
  if (params === undefined || params.length !== 1) return null
  return params[0]?.trim() || null
}
