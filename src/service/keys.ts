import type pg from 'pg'
import { Misuse } from '../shared/errors.ts'
import { hashKey, makeKey, type KeyKind } from './key.ts'
import { plans, renewalIsDue } from './plans.ts'

export interface NewKey {
  readonly kind: KeyKind
  /** A balance of its own, used up once. */
  readonly credits?: number
  /** A plan that renews each month instead. */
  readonly plan?: string
  /** An account that is there already: how a key is changed without a gap. */
  readonly account?: number
  /** What the key is for. */
  readonly name?: string
  /** Most requests a second. */
  readonly rate?: number
}

export interface IssuedKey {
  readonly id: number
  /** The only time that it is shown. */
  readonly key: string
  readonly kind: KeyKind
  readonly credits: number
  readonly account: number
}

/** Issues a key; only its hash is kept. */
export async function createKey(pool: pg.Pool, wish: NewKey): Promise<IssuedKey> {
  const account = await findOrOpenAccount(pool, wish)
  const key = makeKey(wish.kind)
  const { rows } = await pool.query<{ id: number }>(
    'insert into keys (account_id, kind, hash, tail, name) values ($1, $2, $3, $4, $5) returning id',
    [account.id, wish.kind, hashKey(key), key.slice(-4), wish.name ?? ''],
  )
  return {
    id: rows[0]?.id ?? 0,
    key,
    kind: wish.kind,
    credits: account.remaining,
    account: account.id,
  }
}

interface AccountRow {
  readonly id: number
  readonly remaining: number
}

async function findOrOpenAccount(pool: pg.Pool, wish: NewKey): Promise<AccountRow> {
  if (wish.account !== undefined) {
    const { rows } = await pool.query<AccountRow>(
      `select id, quota - case when ${renewalIsDue} then 0 else used end as remaining from accounts where id = $1`,
      [wish.account],
    )
    if (rows[0] !== undefined) return rows[0]
    throw new Misuse(`expected an account, got ${wish.account}; npm run keys -- list shows them`)
  }
  const name = wish.plan ?? (wish.credits === undefined ? 'free' : 'prepaid')
  const plan =
    wish.plan === undefined && wish.credits !== undefined
      ? { quota: wish.credits, renews: false, rate: null }
      : plans[name]
  if (plan === undefined) {
    throw new Misuse(`expected a plan (${Object.keys(plans).join(', ')}), got ${name}`)
  }
  const { rows } = await pool.query<AccountRow>(
    'insert into accounts (plan, quota, renews, rate) values ($1, $2, $3, $4) returning id, quota as remaining',
    [name, wish.credits ?? plan.quota, plan.renews, wish.rate ?? plan.rate],
  )
  return rows[0] ?? { id: 0, remaining: 0 }
}

/**
 * Takes a key back for good, at once: by its number, by its last four characters where no other valid key ends so, or by
 * itself. False when there is no such key.
 */
export async function revokeKey(pool: pg.Pool, given: string): Promise<boolean> {
  const { rows } = await pool.query<{ id: number }>(whichKey(given))
  if (rows.length > 1) {
    const ids = rows.map(({ id }) => id).join(', ')
    throw new Misuse(
      `expected one key, got ${rows.length} that end so; name one by its number: ${ids}`,
    )
  }
  const { rowCount } = await pool.query(
    'update keys set revoked_at = coalesce(revoked_at, now()) where id = $1',
    [rows[0]?.id ?? 0],
  )
  return rowCount === 1
}

function whichKey(given: string): { text: string; values: unknown[] } {
  if (/^\d{1,15}$/.test(given)) {
    return { text: 'select id from keys where id = $1', values: [Number(given)] }
  }
  const tail = /(?:…|\.\.\.)([0-9A-Za-z]{4})$/.exec(given)?.[1]
  if (tail === undefined) {
    return { text: 'select id from keys where hash = $1', values: [hashKey(given)] }
  }
  const text = 'select id from keys where tail = $1 and revoked_at is null order by id'
  return { text, values: [tail] }
}

export interface ListedKey {
  readonly id: number
  readonly kind: KeyKind
  readonly key: string
  readonly name: string
  readonly account: number
  readonly plan: string
  readonly credits: number
  /** Most requests a second of the account; null: no limit of its own. */
  readonly rate: number | null
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly revoked_at: Date | null
}

/** Every key that was issued, without the part that opens anything. */
export async function listKeys(pool: pg.Pool): Promise<ListedKey[]> {
  const { rows } = await pool.query<ListedKey>(`
    select
      keys.id,
      keys.kind,
      'sk_' || keys.kind || '_…' || keys.tail as key,
      keys.name,
      accounts.id as account,
      accounts.plan,
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

export interface UsedDay {
  readonly key_id: number
  readonly kind: KeyKind
  readonly tail: string
  readonly day: string
  readonly requests: number
  readonly failures: number
  readonly credits: number
}

/** Requests and credits of each key on each day (UTC). */
export async function readUsage(pool: pg.Pool): Promise<UsedDay[]> {
  const { rows } = await pool.query<UsedDay>('select * from usage_by_day order by day, key_id')
  return rows
}

/** Gives a key another name, and its account another limit. False when there is no such key. */
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
