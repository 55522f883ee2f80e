import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { contentPromises } from './content.ts'
import { evidencePromises } from './evidence.ts'
import { finishedPromises, type DaySample } from './finished.ts'
import { bookPromises } from './promises.ts'

/** One promise, as a question that finds every row that breaks it. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly violations: number
}

/** Asks every question over one snapshot: rows that change between two questions would look like a broken promise. */
export async function verifyPromises(db: Database, zone = 'UTC'): Promise<readonly Check[]> {
  return onSnapshot(db, (snapshot) => askPromises(snapshot, { zone, days: null }))
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
export async function askPromises(
  db: Database,
  { zone, days }: { readonly zone: string; readonly days: DaySample },
): Promise<readonly Check[]> {
  const promises = {
    ...bookPromises,
    ...evidencePromises(zone),
    ...contentPromises,
    ...finishedPromises(days),
  }
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
  /** The balance that the first answer found. */
  readonly opening: number
  readonly used: number
  /** Lost while a call was out whose end nobody could read. */
  readonly unknown: number
  /** Spent by nobody we know of. */
  readonly unexplained: number
  /** Topped up, renewed or given back. */
  readonly added: number
  readonly closing: number
}

/** Opening - used - unknown - unexplained + added = closing, by every single change of the balance. */
export async function conserveCredits(db: Database): Promise<readonly Conservation[]> {
  const { rows } = await sql<Conservation>`
    select
      account,
      origin as kind,
      sum(credits) filter (where kind = 'opening')::float8 as opening,
      coalesce(-sum(credits) filter (where kind = 'ours'), 0)::float8 as used,
      coalesce(-sum(credits) filter (where kind = 'perhaps_ours'), 0)::float8 as unknown,
      coalesce(-sum(credits) filter (where kind = 'others'), 0)::float8 as unexplained,
      coalesce(sum(credits) filter (where kind = 'top_up'), 0)::float8 as added,
      sum(credits)::float8 as closing
    from analysis.statement
    where origin <> 'test'
    group by account, origin
    order by account`.execute(db)
  return rows
}
