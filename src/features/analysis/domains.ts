// Reads and changes our own and rivals' domains.

import type { Database } from '../../base/database/database.ts'
import {
  expressionBuilder,
  type Selectable,
  sql,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { dayMs, dayOf, type DaySpan, formatDate } from '../../base/time/zone.ts'

const tables = ['own_domains', 'rival_domains'] as const

type DomainLine = Omit<Selectable<DB[(typeof tables)[number]]>, 'added_at'>

/** Own or rival domain, with its label and period. Missing dates are null. */
export interface OwnDomain extends Readonly<DomainLine> {
  readonly rival: boolean
}

function tableOf({ rival }: Pick<OwnDomain, 'rival'>) {
  return rival ? 'rival_domains' : 'own_domains'
}

export interface DomainFile {
  readonly lines: readonly OwnDomain[]
  readonly brands: boolean
  readonly rivals: boolean
}

interface Loading extends DomainFile {
  readonly today: string
}

/**
 * Updates the domain tables to match the given lines without changing the past. The period of a changed or removed line
 * ends yesterday, and that of a new line starts today, unless the line has its own dates.
 */
export async function loadDomains(trx: Transaction<DB>, loading: Loading): Promise<void> {
  await loadTable(trx, loading, false)
  if (loading.rivals) await loadTable(trx, loading, true)
}

async function loadTable(
  trx: Transaction<DB>,
  { lines, today, brands }: Loading,
  rival: boolean,
): Promise<void> {
  const table = tableOf({ rival })
  const own = lines.filter((line) => line.rival === rival)
  const yesterday = formatDate(dayOf(today).getTime() - dayMs)
  const isNow = ({ until }: DomainLine) => until === null || until >= today
  // A line without a start date matches the current row or the row with the same end date.
  const isSame = (line: OwnDomain, row: DomainLine) =>
    line.domain === row.domain &&
    line.label === row.label &&
    (!brands || line.brand === row.brand) &&
    (line.since === null ? isNow(row) || row.until === line.until : line.since === row.since)
  const rows: DomainLine[] = []
  for (const row of await trx.selectFrom(table).selectAll().execute()) {
    const line = own.find((each) => isSame(each, row))
    if (line === undefined && row.since !== null && row.since >= today) {
      // The stored line starts today or later, so it cannot end yesterday.
      await trx.deleteFrom(table).where(isLine(row)).execute()
      continue
    }
    const until = line === undefined ? (isNow(row) ? yesterday : row.until) : line.until
    rows.push({ ...row, until })
    if (until === row.until) continue
    await trx.updateTable(table).set({ until }).where(isLine(row)).execute()
  }
  for (const line of own) {
    if (rows.some((row) => isSame(line, row))) continue
    // A new domain is added without a start date, so that its whole history is included.
    const since = line.since ?? (rows.some(({ domain }) => domain === line.domain) ? today : null)
    await putDomain(trx, { ...line, since })
  }
}

function isLine({ domain, since }: Pick<OwnDomain, 'domain' | 'since'>) {
  const eb = expressionBuilder<DB, (typeof tables)[number]>()
  return eb.and([eb('domain', '=', domain), eb('since', 'is not distinct from', since)])
}

export async function readOursOn(db: Database, date: string): Promise<readonly string[]> {
  const rows = await readRows<{ domain: string }>(db, 'read_ours_on', { date })
  return rows.map(({ domain }) => domain)
}

/** Reads our own domains, and then the rivals' domains, oldest line first. */
export async function readOwnDomains(db: Database): Promise<readonly OwnDomain[]> {
  const lines = (table: (typeof tables)[number]) =>
    db
      .selectFrom(table)
      .select(['domain', 'label', 'brand', 'since', 'until'])
      .select((eb) => eb.lit(table === 'rival_domains').as('rival'))
  return lines('own_domains')
    .unionAll(lines('rival_domains'))
    .orderBy('rival')
    .orderBy('domain')
    .orderBy('since', (order) => order.asc().nullsFirst())
    .execute()
}

/** Changes the domain tables while holding a lock. Records and returns the lines that were removed and added. */
export function changeDomains(
  db: Database,
  command: string,
  work: (trx: Transaction<DB>) => Promise<unknown>,
) {
  return db.transaction().execute(async (trx) => {
    await sql`lock table own_domains, rival_domains in share row exclusive mode`.execute(trx)
    const before = await readOwnDomains(trx)
    await work(trx)
    const after = await readOwnDomains(trx)
    const changes = [
      ...missing(before, after).map((line) => ({ change: 'removed' as const, ...line })),
      ...missing(after, before).map((line) => ({ change: 'added' as const, ...line })),
    ]
    for (const change of changes) {
      await trx
        .insertInto('own_domain_changes')
        .values({ command, ...change })
        .execute()
    }
    return changes
  })
}

function missing(from: readonly OwnDomain[], among: readonly OwnDomain[]): readonly OwnDomain[] {
  const there = new Set(among.map((line) => JSON.stringify(line)))
  return from.filter((line) => !there.has(JSON.stringify(line)))
}

/** Adds a domain of our own or of a rival. Replaces a line with the same start date. */
export async function putDomain(trx: Transaction<DB>, line: OwnDomain): Promise<void> {
  const { domain, label, brand, since, until } = line
  await trx
    .insertInto(tableOf(line))
    .values({ domain, label, brand, since, until })
    .onConflict((there) => there.columns(['domain', 'since']).doUpdateSet({ label, brand, until }))
    .execute()
}

/** Ends all lines of a domain on a given day, and deletes lines that start later. */
export async function endDomain(
  trx: Transaction<DB>,
  { domain, on }: { readonly domain: string; readonly on: string },
): Promise<void> {
  for (const table of tables) {
    await trx.deleteFrom(table).where('domain', '=', domain).where('since', '>', on).execute()
    await trx
      .updateTable(table)
      .set({ until: on })
      .where('domain', '=', domain)
      .where((eb) => eb.or([eb('until', 'is', null), eb('until', '>', on)]))
      .execute()
  }
}

/** Undoes the last command, or the last undo. */
export async function undoDomains(trx: Transaction<DB>): Promise<void> {
  const last = await trx
    .selectFrom('own_domain_changes')
    .selectAll()
    .where('changed_at', '=', (eb) =>
      eb.selectFrom('own_domain_changes').select(({ fn }) => fn.max('changed_at').as('changed_at')),
    )
    .execute()
  for (const line of last.filter(({ change }) => change === 'added')) {
    await trx.deleteFrom(tableOf(line)).where(isLine(line)).execute()
  }
  for (const line of last.filter(({ change }) => change === 'removed')) await putDomain(trx, line)
}

export interface DomainDay {
  readonly runDate: string
  readonly queries: number
  readonly ranked: number
  readonly top3: number
  readonly top10: number
  readonly top20: number
  /** Share of voice, or null if the day has no weights. */
  readonly share: number | null
  /** True if there are too few answers for a comparison with other days. */
  readonly thin: boolean
}

export interface HeldDay extends DomainDay {
  readonly domain: string
}

/** Reads the daily sums in analysis.share_of_voice and position_buckets. Days without results have no row. */
export function readHeldDays(
  db: Database,
  { domains, tag = '*', since, until }: DaySpan & { domains: readonly string[]; tag?: string },
) {
  return readRows<HeldDay>(db, 'read_held_days', { domains, tag, since, until })
}
