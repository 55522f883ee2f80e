import { sql, type Transaction } from '../kysely.ts'
import type { Planned, PlanOrder } from './order.ts'
import type { RestOrder } from './rests.ts'
import { countShares, queuedWithTurns, takeTurns } from './shares.ts'
import { only } from '../statement.ts'
import type { DB } from '../schema.ts'
import { wantedName } from './staged-tables.ts'

const sliceSize = 25

/** Lines that gave a query first. */
export async function countAccepted(
  trx: Transaction<DB>,
  stage: number,
  { single, tasks }: { single: boolean; tasks: number },
): Promise<number> {
  if (single) return tasks
  const { rows } = await sql<{ accepted: number }>`
    select count(distinct wanted.line) as accepted
    from ${wantedName(stage)} as wanted
    join pg_temp.merged using (ord)`.execute(trx)
  return only(rows).accepted
}

/** Tasks that may share a slice: those that rest or are reused lie in slices that nobody needs to queue. */
interface Group {
  readonly already: boolean
  readonly reused: boolean
  readonly rests: boolean
  /** Of these tasks, those that are lent an answer. */
  readonly lent: number
  readonly priority: number
  readonly tasks: number
  readonly slices: number
  /** Of these tasks, those whose answer cannot be read. */
  readonly unreadable: number
  /** True when a weight is named. */
  readonly weighted: boolean
  /** True when it is known when some of them were answered last, or that they wait too long. */
  readonly aged: boolean
  readonly first_slice: number
}

/** A task for each query that has none in the run, answered at once where an answer is young enough. */
export async function addTasks(
  trx: Transaction<DB>,
  run: number,
  { keep, joined, order }: { keep: boolean; joined: boolean; order: RestOrder },
): Promise<
  Pick<
    Planned,
    'tasks' | 'queued' | 'reused' | 'notAsked' | 'lent' | 'unreadable' | 'already' | 'shares'
  >
> {
  const groups = await groupTasks(trx, run)
  const wanted = groups.filter(({ already }) => keep && !already)
  for (const group of wanted) await addGroup(trx, run, { group, joined, order })
  const count = (counted: (group: Group) => boolean) =>
    groups.filter(counted).reduce((sum, { tasks }) => sum + tasks, 0)
  return {
    tasks: count(() => true),
    queued: count(({ already, reused, rests }) => !already && !reused && !rests),
    notAsked: count(({ rests }) => rests),
    lent: groups.reduce((sum, { lent }) => sum + lent, 0),
    reused: count(({ reused }) => reused),
    unreadable: groups.reduce((sum, { unreadable }) => sum + unreadable, 0),
    already: count(({ already }) => already),
    shares: await countShares(trx, order),
  }
}

/** Counts tasks and slices by what all tasks of a slice have in common. */
async function groupTasks(trx: Transaction<DB>, run: number): Promise<readonly Group[]> {
  const { rows } = await sql<Group>`
    select
      already, reused, rests, priority, tasks, slices, unreadable, lent, weighted, aged,
      coalesce((select max(slice) from slices where run_id = ${run}), 0)
        + sum(slices) over (order by already, reused, rests, priority)
        - slices
        + 1 as first_slice
    from (
      select
        already, reused, rests, priority,
        count(*) as tasks, (count(*) + ${sliceSize} - 1) / ${sliceSize} as slices,
        count(*) filter (where unreadable) as unreadable, count(*) filter (where lent) as lent, count(weight) > 0 as weighted,
        count(answered) > 0 or bool_or(overdue) as aged
      from pg_temp.merged
      group by already, reused, rests, priority
    ) as counted
    order by already, reused, rests, priority`.execute(trx)
  return rows
}

/** One group at a time: its tasks are mostly sorted by a single number, three times as fast as by what groups them. */
async function addGroup(
  trx: Transaction<DB>,
  run: number,
  { group, joined, order }: { group: Group; joined: boolean; order: RestOrder },
): Promise<void> {
  const { reused, rests, priority, slices, first_slice: first } = group
  const done = reused || rests
  const shared = order.shares.length > 0 && !done
  const usual = buyingOrder(group)
  // What has waited too long comes before all shares, and counts to them.
  const bought = shared ? sql`overdue desc, turn, ${usual}` : usual
  const finished = done ? sql`now()` : sql`null`
  // What a line takes may be younger than what its run takes: nobody looks at the line any more when it is bought.
  const after =
    order.wished && order.kind === 'nightly' && !done
      ? sql`now() - max_age_ms * interval '1 millisecond'`
      : sql`null::timestamptz`
  await sql`
    insert into tasks (run_id, query_id, search_id, state, finished_at, answers_after, slice, priority)
    select
      ${run}::bigint, id, search_id, ${rests ? 'not_asked' : reused ? 'reused' : 'open'}::text, ${finished}, ${after},
      ${first}::bigint + (row_number() over (order by ${bought}) - 1) / ${sliceSize}::integer,
      priority
    from ${shared ? queuedWithTurns(order, usual) : sql`pg_temp.merged`}
    where not already
      and reused = ${reused}
      and rests = ${rests}
      and priority = ${priority}
    order by ${bought}
    ${joined ? askedAfterAll : sql``}`.execute(trx)
  await sql`
    insert into slices (run_id, slice, priority, done_at)
    select ${run}::bigint, slice, ${priority}::smallint, ${finished}
    from generate_series(${first}::bigint, ${first}::bigint + ${slices}::bigint - 1) as slice
  `.execute(trx)
  if (order.part !== null && !done) await takeTurns(trx, run, { part: order.part, first })
}

/** What a run that is joined let rest so far; in a new one there is nothing to be looked for. */
const askedAfterAll = sql`
  on conflict (run_id, query_id) do update
  set search_id = excluded.search_id,
    state = excluded.state,
    finished_at = excluded.finished_at,
    answers_after = excluded.answers_after,
    slice = excluded.slice,
    priority = excluded.priority
  where tasks.state = 'not_asked'`

/**
 * What a stop leaves over is to be worth least: the heaviest queries come first, where weights are named, and of equal
 * ones those that were never asked and whose answers are oldest. What has waited more than twice its time waits no more.
 */
function buyingOrder({ weighted, aged, reused, rests }: Group) {
  if (aged && !reused && !rests) {
    return sql`overdue desc, weight desc nulls last, answered nulls first, ord`
  }
  return weighted ? sql`weight desc nulls last, ord` : sql`ord`
}

/** The tasks to be bought, by what their price depends on. */
export async function countClasses(
  trx: Transaction<DB>,
  stage: number,
  { queued, request }: { queued: number; request: PlanOrder['request'] },
): Promise<Planned['toBuy']> {
  if (queued === 0) return []
  if (request !== null) return [{ ...request, tasks: queued }]
  const { rows } = await sql<{ num: number; device: string | null; tasks: number }>`
    select num, device, count(*) as tasks
    from pg_temp.merged
    join ${wantedName(stage)} as wanted using (ord)
    where not already
      and not reused
      and not rests
    group by num, device
    order by num, device`.execute(trx)
  return rows
}
