import { sql, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import { restsOf, type RestOrder } from './rests.ts'
import { shareColumns } from './shares.ts'
import { wantedName } from './staged-tables.ts'

/** The run that a list is planned into. */
export interface Run {
  readonly run: number
  /** False for a run that was just made. */
  readonly joined: boolean
}

/**
 * One row for each distinct query of a stage: the first line that gave it, the most urgent priority, the greatest weight,
 * the shortest wishes, whether the run has it already, whether it rests, and the answer that can be used again or stands
 * in, if there is one.
 */
export async function mergeDuplicates(
  trx: Transaction<DB>,
  stage: number,
  { run, joined, list, order }: Run & { list: number; order: RestOrder },
): Promise<void> {
  const wanted = wantedName(stage)
  await sql`analyze ${wanted} (id)`.execute(trx)
  const already = joined
    ? sql`exists (select from tasks where tasks.run_id = ${run} and tasks.query_id = lines.id and ${isDecided(order)})`
    : sql`false`
  const { joins, rests, lent, standIn, answered, overdue } = restsOf(list, order)
  const columns = shareColumns(order)
  await sql`
    create temporary table merged on commit drop as
    select
      lines.id, lines.ord, lines.priority, lines.weight, lines.every_days, lines.max_age_ms, known.already,
      case when rest.rests then ${standIn} else answer.id end as search_id, rest.rests,
      rest.rests and ${lent} as lent,
      answer.id is not null as reused, coalesce(answer.unreadable, false) as unreadable,
      ${answered} as answered, ${overdue} as overdue ${columns.shown}
    from (
      select
        id, min(ord) as ord, min(priority) as priority, max(weight) as weight,
        min(every_days) as every_days, min(max_age_ms) as max_age_ms ${columns.merged}
      from ${wanted}
      group by id
    ) as lines
    cross join lateral (select ${already} as already) as known
    ${joins}
    cross join lateral (select ${rests} as rests) as rest
    left join lateral (${youngAnswer(order)}) as answer on not known.already and not rest.rests`.execute(
    trx,
  )
}

/** What a run let rest on its own night may be due on a later one that joins it. */
function isDecided({ kind }: RestOrder) {
  return kind === 'nightly' ? sql`tasks.state <> 'not_asked'` : sql`true`
}

/** One that cannot be read is an answer all the same: it was paid for, and is kept to be read again. */
function youngAnswer({ kind, wished, maxAgeMs, origin, api }: RestOrder) {
  const own = wished && kind === 'nightly'
  if (maxAgeMs === 0 && !own) return sql`select null::bigint as id, null::boolean as unreadable`
  const age = own ? sql`coalesce(lines.max_age_ms, ${maxAgeMs}::bigint)` : sql`${maxAgeMs}::bigint`
  return sql`
    select id, parse_error is not null as unreadable
    from searches
    where searches.query_id = lines.id
      and searches.origin = ${origin}
      and searches.api = ${api}
      and searches.fetched_at > now() - ${age} * interval '1 millisecond'
    order by unreadable, searches.fetched_at desc
    limit 1`
}
