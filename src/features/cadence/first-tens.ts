// Reads the top ten results of past answers, to estimate how often a query changes.

import type { Origin } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

interface FirstTenOrder {
  readonly list: number
  readonly since: string
  readonly until: string
  readonly origin: Origin
  readonly api: string
  /** If true, only answers from the list's own runs are used, as if there were no other lists. */
  readonly own: boolean
  /** If true, the top tens are stored. Each night needs two months of top tens, which are slow to compute. */
  readonly store: boolean
}

/** A query in a list, with the top ten from each night's answer. */
interface SeenQuery {
  readonly id: string
  readonly tags: readonly string[]
  /** For each answer, oldest first: the day, the depth, the number of pages, and a number for each page. */
  readonly first_tens: Buffer
}

/** Reads, in one snapshot, the top tens of all answers to the queries in the newest version of a list. */
export function readFirstTens(db: Database, order: FirstTenOrder) {
  return db.transaction().execute(async (trx) => {
    // This memory is enough to sort two months of a large list's answers without using the disk.
    await sql`set local work_mem = '64MB'`.execute(trx)
    const { rows } = await sql<SeenQuery>`
      with members as (${membersOf(order)}),
      answers as materialized (${answersOf(order)}),
      looked as materialized (
        select answers.id as search_id, shown.sight
        from answers
        cross join lateral (${shown}) as shown
        where not exists (select from first_tens where first_tens.search_id = answers.id)
      ),
      kept as (${order.store ? storing : sql`select`}),
      seen as (
        select
          answers.query_id,
          string_agg(
            int4send(answers.run_date - date '1970-01-01') || coalesce(first_tens.sight, looked.sight),
            ''::bytea
            order by answers.run_date
          ) as first_tens
        from answers
        left join first_tens on first_tens.search_id = answers.id
        left join looked on looked.search_id = answers.id
        group by answers.query_id
      )
      select members.query_id as id, members.tags, coalesce(seen.first_tens, '') as first_tens
      from members
      left join seen using (query_id)
      order by members.query_id`.execute(trx)
    return rows
  })
}

/** CTE that stores top tens. A read-only connection rejects the CTE, even if there is nothing to insert. */
const storing = sql`
  insert into first_tens (search_id, sight)
  select search_id, sight
  from looked
  order by search_id
  on conflict do nothing`

/** SQL that encodes an answer's top ten as page numbers. The number of a page is the same on every server. */
const shown = sql`
  select
    -- The depth may exceed an int2, and depth beyond 10 does not matter here.
    int2send(least(answers.depth, 10)::int2) || int2send(count(*)::int2)
      || coalesce(
        string_agg(substr(uuid_send(held.page_id), 1, 4), ''::bytea order by held.position, held.ordinal),
        ''
      ) as sight
  from organic_results as held
  where held.search_id = answers.id
    and held.page_id is not null
    and held.position between 1 and 10`

/** Selects the queries in the list as last read or, with `own`, all queries that were ever in the list. */
function membersOf({ list, own }: FirstTenOrder) {
  return sql`
    select query_id, tags
    from list_queries
    where list_id = ${list}
      and (
        ${own}::boolean
        or last_seen = (select max(others.last_seen) from list_queries as others where others.list_id = ${list})
      )`
}

/** Selects the newest readable answer to each query in the list for each night. */
function answersOf({ list, since, until, origin, api, own }: FirstTenOrder) {
  return sql`
    select distinct on (tasks.query_id, runs.run_date)
      tasks.query_id, runs.run_date, searches.id, coalesce(searches.depth, 0) as depth
    from runs
    join tasks on tasks.run_id = runs.id and tasks.state = 'answered'
    join searches on searches.id = tasks.search_id
    where runs.run_date between ${since}::date and ${until}::date
      and (runs.list_id = ${list} or not ${own}::boolean)
      and not runs.suspect
      and not exists (select from quarantine where quarantine.search_id = searches.id)
      and tasks.query_id in (select query_id from members)
      and searches.parse_error is null
      and not searches.archived
      and searches.origin = ${origin}
      and searches.api = ${api}
    order by tasks.query_id, runs.run_date, searches.fetched_at desc, searches.id desc`
}

export type HistoryList = Awaited<ReturnType<typeof readHistoryLists>>[number]

export async function readHistoryLists(
  db: Database,
  { origin, api }: Pick<FirstTenOrder, 'origin' | 'api'>,
) {
  return db
    .selectFrom('lists')
    .innerJoin('runs', 'runs.list_id', 'lists.id')
    .innerJoin('tasks', 'tasks.run_id', 'runs.id')
    .innerJoin('searches', 'searches.id', 'tasks.search_id')
    .select((eb) => [
      'lists.id',
      'lists.name',
      // Null if no answer reported a cost.
      eb.cast<number | null>(eb.fn.avg('searches.credits_used'), 'double precision').as('price'),
      eb
        .selectFrom('cadence_nights')
        .select(({ fn }) => fn.min('run_date').as('first'))
        .whereRef('cadence_nights.list_id', '=', 'lists.id')
        .as('rests_since'),
    ])
    .where('tasks.state', '=', 'answered')
    .where('searches.origin', '=', origin)
    .where('searches.api', '=', api)
    .groupBy('lists.id')
    .orderBy('lists.name')
    .execute()
}
