import { sql, type RawBuilder, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'

/** A domain of ours or of a rival, under a label, for a span of days; empty dates are null. */
export interface OwnDomain {
  readonly domain: string
  readonly label: string
  /** Null: the label names the brand. */
  readonly brand: string | null
  readonly since: string | null
  readonly until: string | null
  readonly rival: boolean
}

/** What the lines of a file speak of. */
export interface FileColumns {
  readonly brands: boolean
  readonly rivals: boolean
}

/** The table of a line. */
export function tableOf({ rival }: Pick<OwnDomain, 'rival'>): RawBuilder<unknown> {
  return sql.table(rival ? 'rival_domains' : 'own_domains')
}

interface Loading extends FileColumns {
  readonly lines: readonly OwnDomain[]
  readonly today: string
}

/**
 * Makes the tables of our domains and of rivals' say what some lines say, without rewriting the past: a line that changed
 * or went away ends yesterday, its successor begins today. Dates that the lines name are taken at their word.
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
  const own = lines.filter((line) => line.rival === rival)
  const table = tableOf({ rival })
  const given = sql`(
    select domain, label, brand, since, until
    from jsonb_to_recordset(${JSON.stringify(own)}::jsonb)
      as lines (domain text, label text, brand text, since date, until date)
  ) as given`
  // A line without a first day means the row that is in force, or the one that ended on the day it names.
  const same = sql`given.domain = there.domain
    and given.label = there.label
    and (not ${brands}::boolean or given.brand is not distinct from there.brand)
    and case
      when given.since is not null then given.since = there.since
      else there.until is null or there.until >= ${today}::date or there.until = given.until
    end`
  await endMissing(trx, { table, given, same, today })
  await sql`
    update ${table} as there
    set until = given.until
    from ${given}
    where ${same}
      and there.until is distinct from given.until`.execute(trx)
  await sql`
    insert into ${table} (domain, label, brand, since, until)
    select
      given.domain, given.label, given.brand,
      -- What was never there before is there from the beginning: a new domain has its whole history.
      coalesce(given.since, case
        when exists (select from ${table} as there where there.domain = given.domain) then ${today}::date
      end),
      given.until
    from ${given}
    where not exists (select from ${table} as there where ${same})
    on conflict (domain, since) do update
    set label = excluded.label,
      brand = excluded.brand,
      until = excluded.until`.execute(trx)
}

interface Ending {
  readonly table: RawBuilder<unknown>
  readonly given: RawBuilder<unknown>
  readonly same: RawBuilder<unknown>
  readonly today: string
}

async function endMissing(trx: Transaction<DB>, { table, given, same, today }: Ending) {
  // What began today has no yesterday to end on.
  await sql`
    delete from ${table} as there
    where there.since >= ${today}::date
      and not exists (select from ${given} where ${same})`.execute(trx)
  await sql`
    update ${table} as there
    set until = ${today}::date - 1
    where (there.until is null or there.until >= ${today}::date)
      and not exists (select from ${given} where ${same})`.execute(trx)
}

/** Domains that are ours on a day. */
export async function readOursOn(db: Database, date: string): Promise<readonly string[]> {
  const { rows } = await sql<{ domain: string }>`
    select distinct domain
    from analysis.ours_on(${date}::date)
    order by domain`.execute(db)
  return rows.map(({ domain }) => domain)
}
