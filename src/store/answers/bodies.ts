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

/** Puts new rows in the place of those that an answer has; readers see the old ones or the new ones. */
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
  ] as const) {
    await trx.deleteFrom(table).where('search_id', 'in', ids).execute()
  }
  await trx.deleteFrom('searches').where('id', 'in', ids).execute()
  await storeAnswers(trx, answers)
}
