import { sql, type Transaction } from '../kysely.ts'
import type { Origin, StoredAnswer } from './answer.ts'
import { storeAnswers } from './answers.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'

/** The body of an answer, with what is known of the answer apart from it. */
export interface KeptBody {
  readonly id: number
  readonly task_id: number
  readonly query_id: string
  readonly q: string
  readonly origin: Origin
  readonly api: string
  readonly parse_error: string | null
  readonly status: number
  readonly received_at: Date
  readonly truncated: boolean
  readonly body: Buffer
}

export interface BodyChoice {
  /** False: only of answers that could not be read. */
  readonly all: boolean
  /** Null: of every run. */
  readonly run: number | null
}

/** Kept bodies of answers, oldest first, a few at a time. */
export async function* readBodies(
  db: Database,
  choice: BodyChoice,
  size: number,
): AsyncGenerator<readonly KeptBody[]> {
  for (let after = 0; ;) {
    const { rows } = await sql<KeptBody>`
      select
        s.id, s.task_id, s.query_id, q.q, s.origin, s.api, s.parse_error,
        r.status, r.received_at, r.truncated, r.body
      from searches s
      join raw_answers r on r.call_id = s.id
      join queries q on q.id = s.query_id
      where s.id > ${after}
        and (${choice.all} or s.parse_error is not null)
        and (
          ${choice.run}::bigint is null
          or exists (select from tasks t where t.id = s.task_id and t.run_id = ${choice.run})
        )
      order by s.id
      limit ${size}
    `.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

/** What is known of where answers come from that are bought now. */
interface Buying {
  readonly account: string
  readonly origin: Origin
  readonly api: string
}

/** A kept body whose rows the tables refused; null when nobody knows any more from which API it came. */
export type RefusedBody = Omit<KeptBody, 'api'> & { readonly api: string | null }

/** Kept bodies of answers that have no rows because the tables refused them, oldest first, a few at a time. */
export async function* readRefused(
  db: Database,
  { run, buying }: { readonly run: number | null; readonly buying: Buying },
  size: number,
): AsyncGenerator<readonly RefusedBody[]> {
  for (let after = 0; ;) {
    const { rows } = await sql<RefusedBody>`
      with refused as materialized (
        select c.*
        from calls c
        join raw_answers r on r.call_id = c.id
        where c.id > ${after}
          and c.error_code = 'UNSTORABLE'
          and not exists (select from searches s where s.call_id = c.id)
          and (
            ${run}::bigint is null
            or exists (select from tasks t where t.id = c.task_id and t.run_id = ${run})
          )
        order by c.id
        limit ${size}
      ),
      -- A worker buys from one API for as long as it lives: any other answer of it names it.
      bought as materialized (
        select w.worker, (
          select s.api from calls c join searches s on s.call_id = c.id where c.worker = w.worker limit 1
        ) as api
        from (select distinct worker from refused) w
      )
      select
        c.id, c.task_id, c.query_id, q.q, a.kind as origin, null as parse_error,
        r.status, r.received_at, r.truncated, r.body,
        coalesce(
          b.api,
          case when a.name = ${buying.account} and a.kind = ${buying.origin} then ${buying.api}::text end
        ) as api
      from refused c
      join bought b on b.worker = c.worker
      join raw_answers r on r.call_id = c.id
      join queries q on q.id = c.query_id
      join accounts a on a.id = c.account_id
      order by c.id
    `.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

/** Answers whose body is no longer there: nothing can read them again. */
export async function countBodiless(db: Database, choice: BodyChoice): Promise<number> {
  const { rows } = await sql<{ bodiless: number }>`
    select count(*) as bodiless
    from searches s
    where not exists (select from raw_answers r where r.call_id = s.id)
      and (${choice.all} or s.parse_error is not null)
      and (
        ${choice.run}::bigint is null
        or exists (select from tasks t where t.id = s.task_id and t.run_id = ${choice.run})
      )
  `.execute(db)
  return rows[0]?.bodiless ?? 0
}

/**
 * Puts new rows in the place of those that an answer has, or gives it rows that the tables refused; readers see the old
 * state or the new one.
 */
export async function replaceAnswers(
  trx: Transaction<DB>,
  answers: readonly StoredAnswer[],
): Promise<void> {
  const ids = answers.map(({ callId }) => callId)
  if (ids.length === 0) return
  await trx
    .selectFrom('searches')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forUpdate()
    .execute()
  for (const table of [
    'organic_results',
    'search_entities',
    'search_clusters',
    'search_related_searches',
    'search_features',
  ] as const) {
    await trx.deleteFrom(table).where('search_id', 'in', ids).execute()
  }
  await trx.deleteFrom('searches').where('id', 'in', ids).execute()
  await storeAnswers(trx, answers)
  await answerRefused(trx, ids)
}

/** What failed for want of these rows is answered now; its call keeps the word for it, since until now nobody had them. */
async function answerRefused(trx: Transaction<DB>, ids: readonly number[]): Promise<void> {
  await sql`
    with stored as (
      update calls
      set error_message = 'the tables refused the answer when it came; it was stored later'
      where id = any(${ids}::bigint[]) and error_code = 'UNSTORABLE'
      returning id, task_id
    ),
    first as (
      select task_id, min(id) as id from stored group by task_id
    )
    update tasks
    set
      state = 'answered', search_id = first.id, finished_at = clock_timestamp(),
      error_code = null, error_message = null
    from first
    where tasks.id = first.task_id
      and tasks.state = 'failed'
      and tasks.error_code = 'UNSTORABLE'`.execute(trx)
}
