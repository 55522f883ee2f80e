import { sql, type Transaction } from 'kysely'
import { stagedName } from './lists.ts'
import type { PlanOrder } from './order.ts'
import { only } from './rows.ts'
import type { DB } from './schema.ts'

/** One row for each distinct query: the first line that gave it, the most urgent priority, the greatest weight. */
export async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { usable, single }: PlanOrder,
): Promise<{ tasks: number; accepted: number }> {
  const staged = stagedName(stage)
  await sql`analyze ${staged}`.execute(trx)
  await sql`drop table if exists pg_temp.merged, pg_temp.members, pg_temp.missing`.execute(trx)
  await sql`
    create temporary table merged on commit drop as
    select id, min(ord) as ord, min(priority) as priority, max(weight) as weight
    from ${staged}
    group by id`.execute(trx)
  await sql`analyze pg_temp.merged`.execute(trx)
  const { rows } = await sql<{ tasks: number }>`
    select count(*) as tasks
    from pg_temp.merged`.execute(trx)
  const { tasks } = only(rows)
  if (single) return { tasks, accepted: Math.min(tasks, usable) }
  const lines = await sql<{ accepted: number }>`
    select count(distinct staged.line) as accepted
    from ${staged} as staged
    join pg_temp.merged using (ord)`.execute(trx)
  return { tasks, accepted: only(lines.rows).accepted }
}

/** In the order of their ids, like everybody who adds to this table: two of us never wait for each other in a ring. */
export async function storeQueries(trx: Transaction<DB>, stage: number): Promise<void> {
  await sql`
    insert into queries (id, key, q, location, hl, gl, num, device)
    select id, key, q, location, hl, gl, num, device
    from ${stagedName(stage)}
    order by id
    on conflict do nothing`.execute(trx)
}

/** The lock on the list keeps everybody else away from its members: they need no check for conflicts. */
export async function storeMembers(
  trx: Transaction<DB>,
  stage: number,
  list: number,
): Promise<void> {
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

/** Most lists say nothing about their queries: only those that do pay for bringing it together. */
async function describeMembers(trx: Transaction<DB>, stage: number) {
  const staged = stagedName(stage)
  const { rows } = await sql<{ said: boolean }>`
    select exists (
      select
      from ${staged}
      where tags is not null or target is not null or given is not null
    ) as said`.execute(trx)
  if (!only(rows).said) {
    return sql`
      select id, priority, weight, null::text as target, '{}'::text[] as tags, null::text as given
      from pg_temp.merged`
  }
  return sql`
    with labels as (
      select id, array_agg(distinct tag order by tag) as tags
      from ${staged}
      cross join lateral unnest(string_to_array(tags, E'\x1d')) as tag
      where tags is not null
      group by id
    ),
    targets as (
      select distinct on (id) id, target
      from ${staged}
      where target is not null
      order by id, ord
    )
    select
      merged.id, merged.priority, merged.weight, targets.target,
      coalesce(labels.tags, '{}') as tags, staged.given
    from pg_temp.merged
    join ${staged} as staged using (ord)
    left join labels on labels.id = merged.id
    left join targets on targets.id = merged.id`
}
