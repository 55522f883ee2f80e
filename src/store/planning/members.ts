import { sql, type ControlledTransaction, type RawBuilder, type Transaction } from '../kysely.ts'
import { only } from '../statement.ts'
import type { DB } from '../schema.ts'
import { heldName } from './staged-tables.ts'
import { isDuplicate } from '../trouble.ts'

/** Writes the queries of a stage, and that the list holds them. */
export async function storeHeld(
  trx: ControlledTransaction<DB>,
  stage: number,
  { list, plain }: { list: number; plain: boolean },
): Promise<void> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  await sql`analyze ${heldName(stage)} (id)`.execute(trx)
  await storeQueries(trx, stage)
  await storeMembers(trx, { list, described: plain ? countMembers(stage) : describeMembers(stage) })
}

/**
 * Another planner hardly ever adds one of these queries at the same time, and to look for conflicts at each row costs a
 * third of writing them. When it happens the statement fails, and is repeated so that it passes over what is there.
 */
async function storeQueries(trx: ControlledTransaction<DB>, stage: number): Promise<void> {
  const saved = await trx.savepoint('queries').execute()
  try {
    await addQueries(saved, stage, sql``)
    await saved.releaseSavepoint('queries').execute()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    await saved.rollbackToSavepoint('queries').execute()
    await addQueries(trx, stage, sql`on conflict do nothing`)
  }
}

/** In the order of their ids, as every writer of this table: so no two of them can wait for each other. */
async function addQueries(
  trx: Transaction<DB>,
  stage: number,
  otherwise: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    insert into queries (id, key, q, location, hl, gl, num, device)
    select distinct on (id) id, key, q, location, hl, gl, num, device
    from ${heldName(stage)} as held
    where not exists (select from queries where queries.id = held.id)
    order by id
    ${otherwise}`.execute(trx)
}

/** Nobody else plans the list meanwhile: its members need no check for conflicts. */
async function storeMembers(
  trx: Transaction<DB>,
  { list, described }: { list: number; described: RawBuilder<unknown> },
): Promise<void> {
  if (!(await holdsAny(trx, list))) return addMembers(trx, list, sql`(${described})`)
  await sql`create temporary table members on commit drop as ${described}`.execute(trx)
  await sql`
    update list_queries
    set priority = members.priority,
      weight = members.weight,
      cpc = members.cpc,
      difficulty = members.difficulty,
      every_days = members.every_days,
      max_age_ms = members.max_age_ms,
      target_url = members.target,
      tags = members.tags,
      given = members.given,
      last_seen = now()
    from pg_temp.members
    where list_queries.list_id = ${list}
      and list_queries.query_id = members.id`.execute(trx)
  await addMembers(trx, list, sql`pg_temp.members`)
}

async function holdsAny(trx: Transaction<DB>, list: number): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (select from list_queries where list_id = ${list}) as any`.execute(trx)
  return only(rows).any
}

async function addMembers(
  trx: Transaction<DB>,
  list: number,
  members: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    insert into list_queries
      (list_id, query_id, priority, weight, cpc, difficulty, every_days, max_age_ms, target_url, tags, given)
    select
      ${list}::bigint, id, priority, weight, cpc, difficulty, every_days, max_age_ms, target, tags, given
    from ${members} as members
    where not exists (
      select
      from list_queries
      where list_queries.list_id = ${list}
        and list_queries.query_id = members.id
    )
    order by id`.execute(trx)
}

/** For a list that gives its queries a priority and a weight at most: there are no labels and targets to merge. */
function countMembers(stage: number) {
  return sql`
    select
      id, min(priority) as priority, max(weight) as weight,
      max(cpc) as cpc, max(difficulty) as difficulty,
      min(every_days) as every_days, min(max_age_ms) as max_age_ms,
      null::text as target, '{}'::text[] as tags, null::text as given
    from ${heldName(stage)}
    group by id`
}

/** One row for each distinct query: the first line that gave it, the most urgent priority, the greatest weight. */
function describeMembers(stage: number) {
  const held = heldName(stage)
  return sql`
    with merged as (
      select
        id, min(ord) as ord, min(priority) as priority, max(weight) as weight,
        max(cpc) as cpc, max(difficulty) as difficulty,
        min(every_days) as every_days, min(max_age_ms) as max_age_ms
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
      merged.id, merged.priority, merged.weight, merged.cpc, merged.difficulty,
      merged.every_days, merged.max_age_ms, targets.target,
      coalesce(labels.tags, '{}') as tags, held.given
    from merged
    join ${held} as held using (ord)
    left join labels on labels.id = merged.id
    left join targets on targets.id = merged.id`
}
