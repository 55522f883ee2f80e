import type pg from 'pg'
import { hashKey, keyKind, type KeyKind } from './key.ts'
import { renewalIsDue, renewalTime } from './plans.ts'

/** What the service needs to know of the key of a request. */
export interface FoundKey {
  readonly id: number
  readonly accountId: number
  readonly kind: KeyKind
  readonly rate: number | null
  readonly remaining: number
  readonly renewsAt: Date | null
}

interface KeyRow {
  readonly hash: Buffer
  readonly id: number
  readonly account_id: number
  readonly kind: KeyKind
  readonly rate: number | null
  readonly remaining: number
  readonly renews_at: Date | null
  readonly stale: boolean
}

/** Looks keys up, never from memory: a revoked key is refused at once. Requests of one moment share a query. */
export class KeyRing {
  readonly #pool: pg.Pool
  #waiting: {
    hash: Buffer
    resolve: (key: FoundKey | null) => void
    reject: (e: unknown) => void
  }[] = []

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Null for a key that is unknown or revoked; a mistyped one costs no query. */
  find(key: string): Promise<FoundKey | null> {
    if (keyKind(key) === null) return Promise.resolve(null)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ hash: hashKey(key), resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => void this.#look())
    })
  }

  async #look(): Promise<void> {
    const batch = this.#waiting
    this.#waiting = []
    try {
      const { rows } = await this.#pool.query<KeyRow>({
        name: 'find-keys',
        text: `
          select
            keys.hash,
            keys.id,
            keys.account_id,
            keys.kind,
            accounts.rate,
            accounts.quota - case when ${renewalIsDue} then 0 else accounts.used end as remaining,
            ${renewalTime} as renews_at,
            coalesce(keys.last_used_at < now() - interval '1 minute', true) as stale
          from keys
          join accounts on accounts.id = keys.account_id
          where keys.hash = any($1)
            and keys.revoked_at is null`,
        values: [batch.map(({ hash }) => hash)],
      })
      for (const { hash, resolve } of batch) {
        const row = rows.find((candidate) => candidate.hash.equals(hash))
        resolve(row === undefined ? null : toKey(row))
      }
      const stale = rows.filter((row) => row.stale).map(({ id }) => id)
      if (stale.length > 0) await this.#noteUse(stale)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  /** To the minute: written at every request it would cost more than the request. */
  async #noteUse(ids: readonly number[]): Promise<void> {
    await this.#pool.query({
      name: 'note-use',
      text: "update keys set last_used_at = now() where id = any($1) and coalesce(last_used_at < now() - interval '1 minute', true)",
      values: [ids],
    })
  }
}

function toKey(row: KeyRow): FoundKey {
  const { id, account_id: accountId, kind, rate, remaining, renews_at: renewsAt } = row
  return { id, accountId, kind, rate, remaining, renewsAt }
}
