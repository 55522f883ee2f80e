import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'
import { otherQuery, paidRefusal } from '../answers/answer.ts'

/** Code of an answer `s` without results that count; null where nothing is wrong with it. */
export const flawCode = sql`
  case
    when starts_with(s.parse_error, ${paidRefusal}) then 'PAID_REFUSAL'
    when starts_with(s.parse_error, ${otherQuery}) then 'OTHER_QUERY'
    when s.parse_error is not null then 'UNREADABLE'
  end`

/** Tasks of these runs that failed, are unknown, or whose answer cannot be read, by the code of the error; most first. */
export async function countFailures(
  db: Database,
  runs: readonly number[],
): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ code: string; failures: number }>`
    select
      coalesce(${flawCode}, t.error_code, t.state) as code,
      count(*) as failures
    from tasks t
    left join searches s on s.id = t.search_id
    where t.run_id = any(${[...runs]}::bigint[])
      and t.state <> 'not_asked'
      and (t.state in ('failed', 'unknown') or s.parse_error is not null)
    group by 1
    order by failures desc, code`.execute(db)
  return Object.fromEntries(rows.map(({ code, failures }) => [code, failures]))
}
