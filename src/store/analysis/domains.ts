import { sql, type RawBuilder, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'

/** One line of `inputs/config/domains.csv`; empty dates are null. */
export interface OwnDomain {
  readonly domain: string
  readonly label: string
  readonly since: string | null
  readonly until: string | null
}

export interface LoadedDomains {
  readonly added: number
  readonly ended: number
}

/**
 * Makes the table of our domains say what the file says, without rewriting the past: a line that changed or went away
 * ends yesterday, its successor begins today. Dates that the file names are taken at their word.
 */
export async function loadDomains(
  db: Database,
  lines: readonly OwnDomain[],
  today: string,
): Promise<LoadedDomains> {
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
  return db.transaction().execute(async (trx) => {
    await sql`lock table own_domains in share row exclusive mode`.execute(trx)
    const ended = await endMissing(trx, { given, same, today })
    await sql`
      update own_domains
      set until = given.until
      from ${given}
      where ${same}
        and own_domains.until is distinct from given.until`.execute(trx)
    const added = await sql`
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
    return { added: Number(added.numAffectedRows ?? 0), ended }
  })
}

async function endMissing(
  trx: Transaction<DB>,
  { given, same, today }: { given: RawBuilder<unknown>; same: RawBuilder<unknown>; today: string },
): Promise<number> {
  // What began today has no yesterday to end on.
  const dropped = await sql`
    delete from own_domains
    where since >= ${today}::date
      and not exists (select from ${given} where ${same})`.execute(trx)
  const ended = await sql`
    update own_domains
    set until = ${today}::date - 1
    where (until is null or until >= ${today}::date)
      and not exists (select from ${given} where ${same})`.execute(trx)
  return Number(dropped.numAffectedRows ?? 0) + Number(ended.numAffectedRows ?? 0)
}
