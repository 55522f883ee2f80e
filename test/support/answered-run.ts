// answerRun(db, { run, at, supplier, firstTens }) → answers every open task of a run with pages from a generated
// history, by query text; a query without pages fails. The run is then done. Nothing is bought.
import { sql } from 'kysely'
import type { FirstTen } from '../../src/features/cadence/night.ts'
import { contentId } from '../../src/base/query.ts'
import type { Database } from '../../src/base/database/database.ts'

export interface AnsweredRun {
  readonly run: number
  readonly at: string
  readonly supplier: { readonly origin: string; readonly api: string }
  readonly firstTens: ReadonlyMap<string, FirstTen>
}

export async function answerRun(db: Database, answered: AnsweredRun): Promise<void> {
  const { run, at, supplier, firstTens } = answered
  const { rows: tasks } = await sql<{ id: number; query_id: string; q: string }>`
    select tasks.id, tasks.query_id, queries.q
    from tasks
    join queries on queries.id = tasks.query_id
    where tasks.run_id = ${run}
      and tasks.state = 'open'`.execute(db)
  const found = tasks.flatMap((task) => {
    const firstTen = firstTens.get(task.q)
    return firstTen === undefined ? [] : [{ ...task, firstTen }]
  })
  await sql`
    insert into searches (id, call_id, task_id, query_id, fetched_at, depth, result_count, origin, api)
    select id, id, id, query_id, ${at}::timestamptz, depth, 10, ${supplier.origin}, ${supplier.api}
    from unnest(
      ${found.map(({ id }) => id)}::bigint[],
      ${found.map(({ query_id: query }) => query)}::uuid[],
      ${found.map(({ firstTen }) => firstTen.depth)}::bigint[]
    ) as answer (id, query_id, depth)`.execute(db)
  const results = found.flatMap(({ id, firstTen }) =>
    firstTen.pages.map((page, index) => {
      const url = `https://a.example/${page}`
      return { search: id, place: index + 1, url, page: contentId('page', url) }
    }),
  )
  await sql`
    with told as (
      select *
      from unnest(
        ${results.map(({ search }) => search)}::bigint[],
        ${results.map(({ place }) => place)}::integer[],
        ${results.map(({ page }) => page)}::uuid[],
        ${results.map(({ url }) => url)}::text[]
      ) as result (search, place, page, url)
    ),
    known as (
      insert into pages (id, url, url_key)
      select distinct page, url, url from told
      on conflict do nothing
    )
    insert into organic_results (search_id, ordinal, position, page_id)
    select search, place, place, page from told`.execute(db)
  await sql`
    update tasks
    set state = case when id = any(${found.map(({ id }) => id)}::bigint[]) then 'answered' else 'failed' end,
      search_id = case when id = any(${found.map(({ id }) => id)}::bigint[]) then id end,
      finished_at = now()
    where run_id = ${run}
      and state = 'open'`.execute(db)
  await sql`update slices set done_at = now() where run_id = ${run}`.execute(db)
  await sql`update runs set state = 'done', finished_at = now() where id = ${run}`.execute(db)
}
