import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { contentPromises } from './content.ts'
import { evidencePromises } from './evidence.ts'
import { bookPromises } from './promises.ts'

/** One promise, as a question that finds every row that breaks it. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly violations: number
}

/** Asks every question over one snapshot: rows that change between two questions would look like a broken promise. */
export async function verifyPromises(db: Database, zone = 'UTC'): Promise<readonly Check[]> {
  return onSnapshot(db, (snapshot) => askPromises(snapshot, zone))
}

/** Looks at the tables as they are at one moment. */
export async function onSnapshot<T>(db: Database, look: (snapshot: Database) => Promise<T>) {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(look)
}

/** Asks every question, in the order of their names' groups. */
export async function askPromises(db: Database, zone: string): Promise<readonly Check[]> {
  const promises = { ...bookPromises, ...evidencePromises(zone), ...contentPromises }
  const checks: Check[] = []
  for (const [name, question] of Object.entries(promises)) {
    const { rows } = await question.execute(db)
    checks.push(checkOf(name, rows[0]?.violations ?? 0))
  }
  return checks
}

/** A promise with the number of rows that break it. */
export function checkOf(name: string, violations: number): Check {
  return { name, ok: violations === 0, violations }
}

/** Where the credits of an account went, between the first and the newest balance that was seen. */
export interface Conservation {
  readonly account: string
  readonly kind: string
  readonly drop: number
  readonly used: number
  readonly unknown: number
  /** Spent by nobody we know of, or renewed when negative. */
  readonly unexplained: number
}

/** Drop in balance = credits used + perhaps used by calls nobody could read + unexplained. */
export async function conserveCredits(db: Database): Promise<readonly Conservation[]> {
  const { rows } = await sql<Conservation>`
    with seen as (
      select distinct on (account_id)
        account_id, start_seq as first_seq, credits_remaining + credits_used as before
      from calls
      where credits_remaining is not null and credits_used is not null and outcome = 'settled'
      order by account_id, start_seq
    )
    select
      a.name as account, a.kind,
      moved.drop::float8 as drop,
      sums.used::float8 as used,
      least(sums.unknown, greatest(0, moved.drop - sums.used))::float8 as unknown,
      -- Calls that ended while the newest balance was asked for may be in it or not.
      (case
        when moved.drop > sums.used then greatest(0, moved.drop - sums.used - sums.unknown)
        when moved.drop < sums.used - a.spent_since then moved.drop - (sums.used - a.spent_since)
        else 0
      end)::float8 as unexplained
    from accounts a
    join seen s on s.account_id = a.id
    cross join lateral (
      select
        coalesce(sum(c.credits_used) filter (where c.outcome = 'settled'), 0) as used,
        coalesce(sum(c.credits_reserved) filter (where c.outcome = 'unknown'), 0) as unknown
      from calls c
      where c.account_id = a.id and c.start_seq >= s.first_seq
    ) sums
    cross join lateral (select s.before - a.obs_remaining as drop) moved
    where a.kind <> 'test'
    order by a.name`.execute(db)
  return rows
}
