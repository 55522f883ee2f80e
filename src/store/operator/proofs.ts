import type { KeptBody } from '../answers/bodies.ts'
import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'
import { only } from '../statement.ts'

/** Which answers are read again from their bodies; null: all of them. */
export type BodySample = number | null

/** What an answer says about itself beside its rows. */
export interface AnswerFigures {
  readonly depth: number | null
  readonly replaced: number
  readonly result_count: number
}

/** A kept body, with what its answer says. */
type Proof = Pick<KeptBody, 'id' | 'q' | 'origin' | 'status' | 'truncated' | 'body'> & AnswerFigures

/** An address with what is derived from it. */
export interface StoredPage {
  readonly url: string
  readonly url_key: string
  readonly host: string | null
  readonly site: string | null
}

/** Bodies of answers, a few at a time: all of them, or as many as asked for, drawn anew each time. */
export async function* readProofs(
  db: Database,
  sample: BodySample,
  size: number,
): AsyncGenerator<readonly Proof[]> {
  const drawn = sample === null ? null : await draw(db, sample)
  for (let after = 0; ;) {
    const { rows } = await sql<Proof>`
      select s.id, q.q, s.origin, r.status, r.truncated, r.body, s.depth, s.replaced, s.result_count
      from searches s
      join raw_answers r on r.call_id = s.call_id
      join queries q on q.id = s.query_id
      where s.id > ${after}
        and (${drawn}::bigint[] is null or s.id = any(${drawn}::bigint[]))
      order by s.id
      limit ${size}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

async function draw(db: Database, count: number): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select r.call_id as id
    from raw_answers r
    order by random()
    limit ${count}`.execute(db)
  return rows.map(({ id }) => id)
}

/** The pages that these answers name. */
export async function readPages(
  db: Database,
  answers: readonly number[],
): Promise<readonly StoredPage[]> {
  const { rows } = await sql<StoredPage>`
    select distinct p.url, p.url_key, d.host, d.site
    from (
      select page_id from organic_results where search_id = any(${answers}::bigint[])
      union
      select page_id from search_features where search_id = any(${answers}::bigint[])
    ) r
    join pages p on p.id = r.page_id
    left join domains d on d.id = p.domain_id`.execute(db)
  return rows
}

/** How many answers there are, how many of them in the archive, and how many of the others without a body. */
export async function countAnswers(
  db: Database,
): Promise<{ readonly answers: number; readonly bodiless: number; readonly archived: number }> {
  const { rows } = await sql<{ answers: number; bodiless: number; archived: number }>`
    select
      count(*) as answers,
      count(*) filter (where s.archived) as archived,
      count(*) filter (where not s.archived and not exists (select from raw_answers r where r.call_id = s.call_id)) as bodiless
    from searches s`.execute(db)
  return only(rows)
}
