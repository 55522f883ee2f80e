import { sql, type RawBuilder, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'

/** One of our domains, under a label, for a span of days; empty dates are null. */
export interface OwnDomain {
  readonly domain: string
  readonly label: string
  readonly since: string | null
  readonly until: string | null
}

/**
 * Makes the table of our domains say what some lines say, without rewriting the past: a line that changed or went away
 * ends yesterday, its successor begins today. Dates that the lines name are taken at their word.
 */
export async function loadDomains(
  trx: Transaction<DB>,
  lines: readonly OwnDomain[],
  today: string,
): Promise<void> {
  const given = sql`(
    select domain, label, since, until
    from jsonb_to_recordset(${JSON.stringify(lines)}::jsonb)
      as lines (domain text, label text, since date, until date)
  ) as given`
  // A line without a first day means the row that is in force, or the one that ended on the day it names.
  const same = sql`given.domain = own_domains.domain
    and given.label = own_domains.label
    and case
      when given.since is not null then given.since = own_domains.since
      else own_domains.until is null or own_domains.until >= ${today}::date or own_domains.until = given.until
    end`
  await endMissing(trx, { given, same, today })
  await sql`
    update own_domains
    set until = given.until
    from ${given}
    where ${same}
      and own_domains.until is distinct from given.until`.execute(trx)
  await sql`
    insert into own_domains (domain, label, since, until)
    select
      given.domain, given.label,
      -- What was never ours before is ours from the beginning: a new domain has its whole history.
      coalesce(given.since, case
        when exists (select from own_domains where own_domains.domain = given.domain) then ${today}::date
      end),
      given.until
    from ${given}
    where not exists (select from own_domains where ${same})
    on conflict (domain, since) do update
    set label = excluded.label,
      until = excluded.until`.execute(trx)
}

async function endMissing(
  trx: Transaction<DB>,
  { given, same, today }: { given: RawBuilder<unknown>; same: RawBuilder<unknown>; today: string },
): Promise<void> {
  // What began today has no yesterday to end on.
  await sql`
    delete from own_domains
    where since >= ${today}::date
      and not exists (select from ${given} where ${same})`.execute(trx)
  await sql`
    update own_domains
    set until = ${today}::date - 1
    where (until is null or until >= ${today}::date)
      and not exists (select from ${given} where ${same})`.execute(trx)
}

/** Domains that are ours on a day. */
export async function readOursOn(db: Database, date: string): Promise<readonly string[]> {
  const { rows } = await sql<{ domain: string }>`
    select distinct domain
    from own_domains
    where (since is null or since <= ${date}::date)
      and (until is null or until >= ${date}::date)
    order by domain`.execute(db)
  return rows.map(({ domain }) => domain)
}
