import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** A query as a list holds it. */
export interface ListMember {
  readonly id: string
  readonly q: string
  readonly variant: string
  readonly weight: number | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly target: string | null
  /** Its line, where it was read as something else. */
  readonly given: string | null
  readonly current: boolean
}

/** Which members are read. */
export interface MemberChoice {
  readonly list: number
  readonly word: string | null
  readonly tag: string | null
  /** True: only those whose line was read as something else. */
  readonly respelled: boolean
  readonly skip: number
  readonly most: number
}

/** Members of a list, the heaviest first, and after them those that it holds no more. */
export async function readListMembers(
  db: Database,
  { list, word, tag, respelled, skip, most }: MemberChoice,
): Promise<readonly ListMember[]> {
  const { rows } = await sql<ListMember>`
    select
      queries.id, queries.q,
      analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
      members.weight, members.priority, members.tags, members.target_url as target, members.given,
      members.last_seen = newest.last_seen as current
    from list_queries as members
    join queries on queries.id = members.query_id
    cross join (select max(last_seen) as last_seen from list_queries where list_id = ${list}) as newest
    where members.list_id = ${list}
      and (${word}::text is null or strpos(lower(queries.q), lower(${word}::text)) > 0)
      and (${tag}::text is null or ${tag}::text = any (members.tags))
      and (not ${respelled}::boolean or members.given is not null)
    order by members.last_seen = newest.last_seen desc, members.weight desc nulls last, queries.q, queries.id
    limit ${most}::integer
    offset ${skip}::integer`.execute(db)
  return rows
}

/** A line of a list that could not be used. */
export interface RejectedLine {
  readonly line: number
  readonly reason: string
  readonly content: string
}

/** Lines that a run rejected, in their order. */
export async function readRejectedLines(
  db: Database,
  run: number,
): Promise<readonly RejectedLine[]> {
  const { rows } = await sql<RejectedLine>`
    select line, reason, content
    from rejected_lines
    where run_id = ${run}
    order by line
    limit 200`.execute(db)
  return rows
}
