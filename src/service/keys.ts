// Issues, finds, changes and revokes API keys, reads their usage, and defines plans and prices.

import { npmRun } from '../base/cli/commands.ts'
import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { setImmediate } from 'node:timers/promises'
import type { HttpBindings } from '@hono/node-server'
import { createMiddleware } from 'hono/factory'
import type pg from 'pg'
import { Misuse } from '../base/errors.ts'
import { Refusal } from './refusal.ts'

/** A key to issue, on an existing account or on a new account with a plan or prepaid credits. */
export interface NewKey {
  readonly kind: KeyKind
  readonly credits?: number | undefined
  readonly plan?: string | undefined
  readonly account?: number | undefined
  readonly name?: string | undefined
  readonly rate?: number | undefined
}

/** A new key. The `key` field contains the whole key, which is shown only once. */
export type IssuedKey = Pick<ListedKey, 'id' | 'key' | 'kind' | 'credits' | 'account'>

export interface ListedKey {
  readonly id: number
  readonly kind: KeyKind
  /** Prefix and last characters of the key. */
  readonly key: string
  readonly name: string
  readonly account: number
  readonly plan: string
  readonly quota: number
  readonly credits: number
  /** The account's maximum number of requests per second; null if there is no limit. */
  readonly rate: number | null
  readonly created_at: Date
  readonly last_used_at: Date | null
  /** Time from which the key is refused. A replaced key is refused only after its grace period. */
  readonly revoked_at: Date | null
}

export interface KeyDay extends Pick<ListedKey, 'key' | 'kind' | 'name' | 'credits'> {
  readonly day: string
  readonly key_id: number
  readonly requests: number
  readonly failures: number
}

/** A request's key, with the state of the key's account. */
export interface FoundKey extends Pick<ListedKey, 'id' | 'kind' | 'rate' | 'plan' | 'quota'> {
  readonly accountId: number
  readonly remaining: number
  /** Time of the next renewal; null for prepaid credits. */
  readonly renewsAt: Date | null
}

export class Keys {
  readonly #pool: pg.Pool
  readonly #hashes: Buffer[] = []
  #looking: Promise<readonly (FoundKey & { readonly hash: Buffer })[]> | null = null

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  async create(order: NewKey): Promise<IssuedKey> {
    const { kind, name = '', account = await this.#openAccount(order) } = order
    const key = makeKey(kind)
    const issued = await this.#one<Omit<IssuedKey, 'key'>>(
      `insert into keys (account_id, kind, hash, tail, name)
      select id, $2, $3, $4, $5 from accounts where id = $1
      returning ${issuedColumns}`,
      [account, kind, hashKey(key), key.slice(-4), name],
      noAccount(account),
    )
    return { ...issued, key }
  }

  /** Issues a key that replaces another key. The old key stays valid for the grace period. */
  async rotate({ id, graceMs }: { id: number; graceMs: number }): Promise<IssuedKey> {
    const problem = 'expected a valid key, got an unknown, revoked or replaced key'
    const text = 'select kind from keys where id = $1 and revoked_at is null'
    const { kind } = await this.#one<Pick<ListedKey, 'kind'>>(text, [id], problem)
    const key = makeKey(kind)
    const issued = await this.#one<Omit<IssuedKey, 'key'>>(
      `with old as (
        update keys set revoked_at = now() + make_interval(secs => $2)
        where id = $1 and revoked_at is null
        returning account_id, kind, name
      )
      insert into keys (account_id, kind, hash, tail, name)
      select account_id, kind, $3, $4, name from old
      returning ${issuedColumns}`,
      [id, graceMs / 1000, hashKey(key), key.slice(-4)],
      problem,
    )
    return { ...issued, key }
  }

  /** Revokes a key by its number or its full text. Returns false if the key does not exist. */
  async revoke(given: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      'update keys set revoked_at = least(revoked_at, now()) where id = $1 or hash = $2',
      [/^\d{1,15}$/.test(given) ? Number(given) : null, hashKey(given)],
    )
    return rowCount === 1
  }

  /** Changes a key's name and its account's rate limit. Returns false if the key does not exist. */
  async change({ id, name, rate }: { id: number; name: string; rate: number | null }) {
    const { rowCount } = await this.#pool.query(
      `with changed as (update keys set name = $2 where id = $1 returning account_id)
      update accounts set rate = $3 from changed where accounts.id = changed.account_id`,
      [id, name, rate],
    )
    return rowCount === 1
  }

  async topUp({ account, credits }: { account: number; credits: number }): Promise<number> {
    const { remaining } = await this.#one<{ remaining: number }>(
      `update accounts set quota = quota + $2
      where id = $1 and not renews
      returning quota - used as remaining`,
      [account, credits],
      'expected an account with prepaid credits, got an account with a plan, whose credits renew each month',
    )
    return remaining
  }

  /** Gives an account a plan, and returns the new balance. Credits used this month under another plan still count. */
  async changePlan({ account, plan }: { account: number; plan: string }): Promise<number> {
    const { remaining } = await this.#one<{ remaining: number }>(
      `update accounts
      set
        plan = $2,
        quota = greatest($3, held),
        used = case when renews and not ${renewalIsDue} then least(used, greatest($3, held) - held) else 0 end,
        renews = true,
        period = date_trunc('month', now() at time zone 'utc')::date
      where id = $1
      returning quota - used as remaining`,
      [account, plan, quotaOf(plan)],
      noAccount(account),
    )
    return remaining
  }

  async list(): Promise<ListedKey[]> {
    const { rows } = await this.#pool.query<ListedKey>(`
      select
        keys.id,
        keys.kind,
        'sk_' || keys.kind || '_…' || keys.tail as key,
        keys.name,
        accounts.id as account,
        accounts.plan,
        accounts.quota,
        ${creditsLeft} as credits,
        accounts.rate,
        keys.created_at,
        keys.last_used_at,
        keys.revoked_at
      from keys
      join accounts on accounts.id = keys.account_id
      order by keys.id`)
    return rows
  }

  /** Reads the usage of one account or of all accounts, over the last days (including today) or over all days. */
  async usage({ days, account }: { days?: number; account?: number } = {}): Promise<KeyDay[]> {
    const { rows } = await this.#pool.query<KeyDay>(
      `select
        (at at time zone 'utc')::date::text as day,
        keys.id as key_id,
        'sk_' || keys.kind || '_…' || keys.tail as key,
        keys.kind,
        keys.name,
        count(*) as requests,
        count(*) filter (where status <> 200) as failures,
        coalesce(sum(credits), 0)::bigint as credits
      from keys
      join usage on usage.key_id = keys.id
      where ($1::bigint is null or keys.account_id = $1)
        and at >= ((now() at time zone 'utc')::date - $2::integer + 1) at time zone 'utc'
      group by day, keys.id
      order by day, keys.id`,
      [account ?? null, days ?? 36_500],
    )
    return rows
  }

  /** Returns null if the key is unknown or revoked. Mistyped keys are not looked up in the database. */
  async find(key: string): Promise<FoundKey | null> {
    if (keyKind(key) === null) return null
    const wanted = hashKey(key)
    this.#hashes.push(wanted)
    // Concurrent requests share one SQL query, so that many requests with one key do not delay those with other keys.
    this.#looking ??= setImmediate().then(() => this.#look())
    return (await this.#looking).find(({ hash: found }) => found.equals(wanted)) ?? null
  }

  async #look() {
    const hashes = this.#hashes.splice(0)
    this.#looking = null
    // The last use is recorded only once a minute, because a write on every request would cost more than the request.
    const { rows } = await this.#pool.query<FoundKey & { readonly hash: Buffer }>({
      name: 'find-keys',
      text: `
        with found as (
          select
            keys.hash,
            keys.id,
            keys.account_id as "accountId",
            keys.kind,
            accounts.rate,
            accounts.plan,
            accounts.quota,
            ${creditsLeft} as remaining,
            case
              when accounts.renews then (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'
            end as "renewsAt"
          from keys
          join accounts on accounts.id = keys.account_id
          where keys.hash = any($1)
            and (keys.revoked_at is null or keys.revoked_at > now())
        ),
        used as (
          update keys
          set last_used_at = now()
          -- Concurrent requests must neither wait for each other here nor deadlock.
          where id in (
            select id
            from keys
            where id in (select id from found)
              and coalesce(last_used_at < now() - interval '1 minute', true)
            for no key update skip locked
          )
        )
        select * from found`,
      values: [hashes],
    })
    return rows
  }

  async #openAccount({ plan, credits, rate }: NewKey): Promise<number> {
    const name = plan ?? (credits === undefined ? 'free' : 'prepaid')
    const { id } = await this.#one<{ id: number }>(
      'insert into accounts (plan, quota, renews, rate) values ($1, $2, $3, $4) returning id',
      [name, credits ?? quotaOf(name), name !== 'prepaid', rate ?? null],
    )
    return id
  }

  /** Returns a statement's first row, or throws an error with the given text if there is no row. */
  async #one<Row extends object>(text: string, values: unknown[], problem = ''): Promise<Row> {
    const [row] = (await this.#pool.query<Row>(text, values)).rows
    if (row === undefined) throw new Misuse(problem)
    return row
  }
}

function noAccount(account: number): string {
  return `there is no account ${account}; ${npmRun('keys --')} list shows all accounts`
}

/** SQL condition for accounts whose month has ended. An account's next request renews its credits. */
export const renewalIsDue =
  "(accounts.renews and accounts.period < date_trunc('month', now() at time zone 'utc')::date)"

/** SQL expression for the credits left in an account. Reserved credits are included. */
export const creditsLeft = `(accounts.quota - case when ${renewalIsDue} then 0 else accounts.used end)`

const issuedColumns = `id, kind, account_id as account, (select ${creditsLeft} from accounts where id = account_id) as credits`

/** True if a key is no longer valid. A replaced key is valid during its grace period. */
export function isRevoked({ revoked_at: at }: Pick<ListedKey, 'revoked_at'>): boolean {
  return at !== null && at.getTime() <= Date.now()
}

export function isLow({ credits, quota }: Pick<ListedKey, 'credits' | 'quota'>): boolean {
  return credits < quota / 10
}

export const keyKinds = ['live', 'test'] as const
type KeyKind = (typeof keyKinds)[number]

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const checkLength = 6

/** Makes a key with 190 random bits and a checksum, which distinguishes a mistyped key from a revoked key. */
export function makeKey(kind: KeyKind): string {
  const secret = Array.from({ length: 32 }, () => digits.charAt(randomInt(digits.length)))
  const body = `sk_${kind}_${secret.join('')}`
  return body + checksum(body)
}

/** Returns the kind of a key in this service's format; null for any other text. */
export function keyKind(key: string): KeyKind | null {
  const kind = /^sk_(live|test)_[0-9A-Za-z]{38}$/.exec(key)?.[1]
  if (!key.endsWith(checksum(key.slice(0, -checkLength)))) return null
  return keyKinds.find((known) => known === kind) ?? null
}

export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

function checksum(body: string): string {
  const sum = crc32(body)
  const places = Array.from({ length: checkLength }, (_, place) => digits.length ** place)
  const text = places.map((place) => digits.charAt(Math.floor(sum / place) % digits.length))
  return text.toReversed().join('')
}

/** Credits per month, by plan (spec gap 8). The quota of `unlimited` is below 2^53, so that the balance stays exact. */
const quotas: Readonly<Record<string, number>> = { free: 1_000, pro: 50_000, unlimited: 1e12 }

export const planNames = Object.keys(quotas)

function quotaOf(plan: string): number {
  const quota = quotas[plan]
  if (quota !== undefined) return quota
  throw new Misuse(`expected one of the plans ${planNames.join(', ')}, got ${plan}`)
}

/** Spec gap 8: a search costs one credit per ten results, rounded up. An empty answer also costs one credit. */
export function cost(results: number): number {
  return Math.min(10, Math.max(1, Math.ceil(results / 10)))
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

export function askForKey(keys: Keys) {
  return createMiddleware<DoorEnv>(async (c, next) => {
    const text = sentKey(c.req.header('authorization'), c.req.queries('api_key'))
    if (text === '') {
      throw new Refusal(401, 'Invalid or missing API key', { 'www-authenticate': 'Bearer' })
    }
    const key = await keys.find(text)
    // The message is the same for unknown, mistyped and revoked keys, so that an attacker learns nothing from it.
    if (key === null) throw new Refusal(403, 'API key is invalid or has been revoked')
    c.set('key', key)
    await next()
  })
}

// Spec gap 5.2: a Bearer header takes precedence over the parameter, even if the header is invalid.
function sentKey(header = '', [param, ...further]: string[] = []): string {
  const bearer = /^bearer(?:\s+(.*))?$/i.exec(header.trim())
  const key = bearer === null && further.length === 0 ? param : bearer?.[1]
  return key?.trim() ?? ''
}
