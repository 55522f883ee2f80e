import { sql, type Transaction } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'
import { tableOf, type OwnDomain } from './domains.ts'

/** A line that a command took away or put there. */
export interface DomainChange extends OwnDomain {
  readonly change: 'removed' | 'added'
}

/** Our domains and then those of rivals as the tables have them, oldest line of each first. */
export async function readOwnDomains(db: Database): Promise<readonly OwnDomain[]> {
  const { rows } = await sql<OwnDomain>`
    select domain, label, brand, since, until, rival
    from (
      select *, false as rival from own_domains
      union all
      select *, true from rival_domains
    ) as told
    order by rival, domain, since nulls first
  `.execute(db)
  return rows
}

/** Does some work on the tables of our domains and of rivals', alone, and writes down what it changed; gives that. */
export async function changeDomains(
  db: Database,
  command: string,
  work: (trx: Transaction<DB>) => Promise<unknown>,
): Promise<readonly DomainChange[]> {
  return db.transaction().execute(async (trx) => {
    await sql`lock table own_domains, rival_domains in share row exclusive mode`.execute(trx)
    const before = await readOwnDomains(trx)
    await work(trx)
    const after = await readOwnDomains(trx)
    const changes = [
      ...missing(before, after).map((line) => ({ change: 'removed' as const, ...line })),
      ...missing(after, before).map((line) => ({ change: 'added' as const, ...line })),
    ]
    await sql`
      insert into own_domain_changes (command, change, domain, label, brand, since, until, rival)
      select ${command}, change, domain, label, brand, since, until, rival
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
        as lines (change text, domain text, label text, brand text, since date, until date, rival boolean)
    `.execute(trx)
    return changes
  })
}

function missing(from: readonly OwnDomain[], among: readonly OwnDomain[]): readonly OwnDomain[] {
  const there = new Set(among.map((line) => JSON.stringify(line)))
  return from.filter((line) => !there.has(JSON.stringify(line)))
}

/** Makes a domain ours, or a rival's, under a label and for a span: what was said about the same first day is replaced. */
export async function putDomain(trx: Transaction<DB>, line: OwnDomain): Promise<void> {
  await sql`
    insert into ${tableOf(line)} (domain, label, brand, since, until)
    values (${line.domain}, ${line.label}, ${line.brand}, ${line.since}, ${line.until})
    on conflict (domain, since) do update
    set label = excluded.label,
      brand = excluded.brand,
      until = excluded.until
  `.execute(trx)
}

const tables = [{ rival: false }, { rival: true }] as const

/** Ends every line of a domain that lasts beyond a day, on that day; a line that begins later goes away. */
export async function endDomain(
  trx: Transaction<DB>,
  { domain, on }: { readonly domain: string; readonly on: string },
): Promise<void> {
  for (const kind of tables) {
    const table = tableOf(kind)
    await sql`delete from ${table} where domain = ${domain} and since > ${on}::date`.execute(trx)
    await sql`
      update ${table}
      set until = ${on}::date
      where domain = ${domain}
        and (until is null or until > ${on}::date)
    `.execute(trx)
  }
}

/** Takes back what the last command did; a second time, it does it again. */
export async function undoDomains(trx: Transaction<DB>): Promise<void> {
  const last = sql`
    select *
    from own_domain_changes
    where changed_at = (select max(changed_at) from own_domain_changes)`
  for (const kind of tables) {
    const table = tableOf(kind)
    await sql`
      delete from ${table} as there
      using (${last}) as last
      where last.change = 'added'
        and last.rival = ${kind.rival}
        and last.domain = there.domain
        and last.since is not distinct from there.since
    `.execute(trx)
    await sql`
      insert into ${table} (domain, label, brand, since, until)
      select domain, label, brand, since, until
      from (${last}) as last
      where change = 'removed'
        and rival = ${kind.rival}
    `.execute(trx)
  }
}
