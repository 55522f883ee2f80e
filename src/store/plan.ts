import { sql, type Transaction } from 'kysely'
import { mergeDuplicates, storeMembers, storeQueries } from './members.ts'
import type { Planned, PlanOrder } from './order.ts'
import { storeRejections } from './rejected.ts'
import { only } from './rows.ts'
import type { DB } from './schema.ts'
import { addTasks, countClasses } from './tasks.ts'

/** Everything between the staged lines and the slices, inside the transaction of the caller. */
export async function planStaged(
  trx: Transaction<DB>,
  stage: number,
  order: PlanOrder,
): Promise<Planned> {
  await sql`set local work_mem = '64MB'`.execute(trx)
  const list = await lockList(trx, order)
  const merged = await mergeDuplicates(trx, stage, order)
  await storeQueries(trx, stage)
  await storeMembers(trx, stage, list)
  const { run, joined } = await findRun(trx, list, order)
  const added = await addTasks(trx, { run, joined }, order)
  const reasons = await storeRejections(trx, stage, run)
  const rejected = reasons.reduce((sum, { lines }) => sum + lines, 0)
  const duplicates = order.usable - merged.accepted
  const rows = order.usable + rejected
  const done = await closeRun(trx, run, { rows, accepted: merged.accepted, duplicates, rejected })
  return {
    run,
    joined,
    rows,
    accepted: merged.accepted,
    duplicates,
    rejected,
    tasks: merged.tasks,
    queued: added.queued,
    reused: added.reused,
    already: merged.tasks - added.queued - added.reused,
    done,
    reasons,
    toBuy: await countClasses(trx, stage, { queued: added.queued, request: order.request }),
  }
}

async function lockList(trx: Transaction<DB>, { list, source }: PlanOrder): Promise<number> {
  await sql`
    insert into lists (name, source)
    values (${list}, ${source ?? ''})
    on conflict (name) do nothing`.execute(trx)
  // Two readings of one list wait for each other here: the second one finds the tasks of the first.
  const { rows } = await sql<{ id: number }>`
    select id
    from lists
    where name = ${list}
    for update`.execute(trx)
  const id = only(rows).id
  await sql`
    update lists
    set source = ${source}::text
    where id = ${id}
      and source <> ${source}::text`.execute(trx)
  return id
}

async function findRun(
  trx: Transaction<DB>,
  list: number,
  { kind, runDate, budget, maxAgeMs, into }: PlanOrder,
): Promise<{ run: number; joined: boolean }> {
  const open = await sql<{ id: number }>`
    update runs
    set max_age_ms = ${maxAgeMs},
      budget = case when ${budget === undefined} then budget else ${budget ?? null}::bigint end
    where list_id = ${list}
      and state in ('planning', 'open')
      and case
        when ${into}::bigint is null then kind = 'manual' and ${kind} = 'manual'
        else id = ${into}::bigint
      end
    returning id`.execute(trx)
  const [found] = open.rows
  if (found !== undefined) return { run: found.id, joined: true }
  const { rows } = await sql<{ id: number }>`
    insert into runs (list_id, run_date, kind, state, budget, max_age_ms)
    values (${list}, ${runDate}, ${kind}, 'planning', ${budget ?? null}, ${maxAgeMs})
    returning id`.execute(trx)
  return { run: only(rows).id, joined: false }
}

async function closeRun(
  trx: Transaction<DB>,
  run: number,
  counts: { rows: number; accepted: number; duplicates: number; rejected: number },
): Promise<boolean> {
  const { rows } = await sql<{ state: string }>`
    with work as (
      select exists (select from slices where run_id = ${run} and done_at is null) as left_over
    )
    update runs
    set rows = ${counts.rows},
      accepted = ${counts.accepted},
      duplicates = ${counts.duplicates},
      rejected = ${counts.rejected},
      state = case when left_over then 'open' else 'done' end,
      finished_at = case when left_over then null else now() end
    from work
    where runs.id = ${run}
    returning state`.execute(trx)
  return only(rows).state === 'done'
}
