// Invariants checked by verify: the statements of `sql/checks`, each of which counts violations.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { otherQuery } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { bindParameters, nameParameters, only, readRows } from '../../base/database/sql-file.ts'
import { root } from '../../base/root.ts'

/** An invariant, and the number of rows that violate it. */
export interface Check {
  /** Heading of the file that contains the check. */
  readonly group: string
  readonly name: string
  readonly ok: boolean
  readonly violations: number
}

/** Number of finished days to compute again, selected at random; null means all of them. */
type DaySample = number | null

/** Runs all checks in one snapshot: rows that change between two queries would look like violations. */
export async function onSnapshot<T>(db: Database, look: (snapshot: Database) => Promise<T>) {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(look)
}

/** Runs the checks of `sql/checks`, in the order of its files. */
export async function runChecks(
  db: Database,
  { zone, days }: { readonly zone: string; readonly days: DaySample },
): Promise<readonly Check[]> {
  const finished = await readFinishedDays(db)
  const parameters = {
    zone,
    other_query: otherQuery,
    days: finished.slice(0, days ?? undefined),
    all_days: days === null,
  }
  const checks: Check[] = []
  for (const { path, group, name, file } of readChecks()) {
    const used = Object.entries(parameters).filter(([parameter]) => file.names.includes(parameter))
    const counted = await db.executeQuery(
      bindParameters<{ violations: number }>(path, file, Object.fromEntries(used)),
    )
    checks.push(checkOf(group, name, only(counted.rows).violations))
  }
  return checks
}

/** An invariant with the number of violating rows. */
export function checkOf(group: string, name: string, violations: number): Check {
  return { group, name, ok: violations === 0, violations }
}

/** Reads the checks: each file begins with its heading, and each statement with `-- check: NAME`. */
function readChecks() {
  const folder = join(root, 'sql', 'checks')
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.toSorted().flatMap((file) => {
    const [head = '', ...parts] = readFileSync(join(folder, file), 'utf8').split(/^-- check: /m)
    const group = firstLine(head).replace(/^-- /, '')
    return parts.map((part) => {
      const name = firstLine(part)
      const text = part.slice(name.length)
      return { path: `sql/checks/${file}`, group, name, file: nameParameters(text) }
    })
  })
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/** Rows of `finished_days` that can be computed again, in random order. */
export async function readFinishedDays(db: Database): Promise<readonly number[]> {
  const rows = await readRows<{ id: number }>(db, 'read_finished_days', {})
  return rows.map(({ id }) => id)
}

/** Use of an account's credits between the first and the newest reported balance. */
export interface Conservation {
  readonly account: string
  readonly kind: string
  /** Balance reported by the first answer. */
  readonly opening: number
  readonly used: number
  /** Fall of the balance while a call with an unreadable outcome was in flight. */
  readonly unknown: number
  /** External spend. */
  readonly unexplained: number
  /** Top-ups, renewals and refunds. */
  readonly added: number
  readonly closing: number
}

/** Opening - used - unknown - unexplained + added = closing, over every change of the balance. */
export function conserveCredits(db: Database) {
  return readRows<Conservation>(db, 'conserve_credits', {})
}
