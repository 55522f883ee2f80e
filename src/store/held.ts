import { sql, type Transaction } from 'kysely'
import type { PlanOrder } from './order.ts'
import { only } from './rows.ts'
import type { DB } from './schema.ts'
import { heldName } from './staged-tables.ts'

/** The list of a name, made if there is none. */
export async function storeList(
  trx: Transaction<DB>,
  { list, source }: Pick<PlanOrder, 'list' | 'source'>,
): Promise<number> {
  await sql`
    insert into lists (name, source)
    values (${list}, ${source ?? ''})
    on conflict (name) do nothing`.execute(trx)
  await sql`
    update lists
    set source = ${source}::text
    where name = ${list}
      and source <> ${source}::text`.execute(trx)
  const { rows } = await sql<{ id: number }>`
    select id
    from lists
    where name = ${list}`.execute(trx)
  return only(rows).id
}

/** Writes the queries of a stage, and that the list holds them. */
export async function storeHeld(trx: Transaction<DB>, stage: number, list: number): Promise<void> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  await sql`analyze ${heldName(stage)}`.execute(trx)
  await storeQueries(trx, stage)
  await storeMembers(trx, stage, list)
}

/** In the order of their ids, like everybody who adds to this table: two of us never wait for each other in a ring. */
async function storeQueries(trx: Transaction<DB>, stage: number): Promise<void> {
  await sql`
    insert into queries (id, key, q, location, hl, gl, num, device)
    select id, key, q, location, hl, gl, num, device
    from ${heldName(stage)}
    order by id
    on conflict do nothing`.execute(trx)
}

/** Nobody else plans the list meanwhile: its members need no check for conflicts. */
async function storeMembers(trx: Transaction<DB>, stage: number, list: number): Promise<void> {
  await sql`
    create temporary table members on commit drop as
    ${await describeMembers(trx, stage)}`.execute(trx)
  await sql`
    update list_queries
    set priority = members.priority,
      weight = members.weight,
      target_url = members.target,
      tags = members.tags,
      given = members.given,
      last_seen = now()
    from pg_temp.members
    where list_queries.list_id = ${list}
      and list_queries.query_id = members.id`.execute(trx)
  await sql`
    insert into list_queries (list_id, query_id, priority, weight, target_url, tags, given)
    select ${list}::bigint, id, priority, weight, target, tags, given
    from pg_temp.members
    where not exists (
      select
      from list_queries
      where list_queries.list_id = ${list}
        and list_queries.query_id = members.id
    )
    order by id`.execute(trx)
}

/**
 * One row for each distinct query: the first line that gave it, the most urgent priority, the greatest weight. Most
 * lists say nothing more about their queries: only those that do pay for bringing it together.
 */
async function describeMembers(trx: Transaction<DB>, stage: number) {
  const held = heldName(stage)
  const { rows } = await sql<{ said: boolean }>`
    select exists (
      select
      from ${held}
      where tags is not null or target is not null or given is not null
    ) as said`.execute(trx)
  if (!only(rows).said) {
    return sql`
      select
        id, min(priority) as priority, max(weight) as weight,
        null::text as target, '{}'::text[] as tags, null::text as given
      from ${held}
      group by id`
  }
  return sql`
    with merged as (
      select id, min(ord) as ord, min(priority) as priority, max(weight) as weight
      from ${held}
      group by id
    ),
    labels as (
      select id, array_agg(distinct tag order by tag) as tags
      from ${held}
      cross join lateral unnest(string_to_array(tags, E'\\x1d')) as tag
      where tags is not null
      group by id
    ),
    targets as (
      select distinct on (id) id, target
      from ${held}
      where target is not null
      order by id, ord
    )
    select
      merged.id, merged.priority, merged.weight, targets.target,
      coalesce(labels.tags, '{}') as tags, held.given
    from merged
    join ${held} as held using (ord)
    left join labels on labels.id = merged.id
    left join targets on targets.id = merged.id`
}
