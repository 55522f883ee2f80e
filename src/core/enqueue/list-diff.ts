// Compares a list with its open run and its previous contents, to find queries that were removed.

import { count, formatNumber } from '../../base/cli/text.ts'
import { clock } from '../../base/database/clock.ts'
import { countOf, type ExpressionBuilder, type Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { Misuse } from '../../base/errors.ts'
import type { PlanOrder, Purchase } from './order.ts'
import type { StageTables } from './stage.ts'

type RemovedQueries = Awaited<ReturnType<typeof findRemoved>>

/** Finds queries that are still open in a run but no longer on its list. */
export async function findRemoved(trx: Transaction<DB>, run: number) {
  const removed = trx
    .withTables<StageTables>()
    .selectFrom('tasks')
    .innerJoin('queries', 'queries.id', 'tasks.query_id')
    .where('tasks.run_id', '=', run)
    .where(isRemoved)
  const byPrice: readonly Purchase[] = await removed
    .select(({ fn }) => ['queries.num', 'queries.device', fn.countAll<number>().as('tasks')])
    .groupBy(['queries.num', 'queries.device'])
    .execute()
  const examples =
    byPrice.length === 0
      ? []
      : await removed.select('queries.q').orderBy('tasks.id').limit(3).execute()
  return {
    queries: byPrice.reduce((sum, { tasks }) => sum + tasks, 0),
    examples: examples.map(({ q }): string => q) as readonly string[],
    byPrice,
  }
}

function isRemoved(eb: ExpressionBuilder<DB & StageTables, 'tasks'>) {
  const held = eb.selectFrom('merged').whereRef('merged.id', '=', 'tasks.query_id')
  return eb.and([eb('tasks.state', '=', 'open'), eb.not(eb.exists(held))])
}

/** Rejects a plan whose run contains removed queries, unless the user has chosen to drop or keep them. */
export function refuseUndecided(
  { removed, dropped, run }: { removed: RemovedQueries; dropped: number; run: number },
  list: string,
): void {
  if (removed.queries === dropped) return
  throw new Misuse(
    `expected --drop or --keep for ${removedPhrase(removed)}, got neither; open run ${run} contains these queries, but ${list} does not; nothing was planned; use --drop to cancel them, or --keep to buy them anyway`,
  )
}

export function removedPhrase({ queries, examples }: RemovedQueries): string {
  const shown = examples.map((q) => JSON.stringify(q.slice(0, 60))).join(', ')
  return `${count(queries, 'query')} (${shown}${queries > examples.length ? ', …' : ''})`
}

/** Cancels a run's tasks for removed queries. Locks the run first, as workers do, to avoid a deadlock. */
export async function dropRemoved(trx: Transaction<DB>, run: number): Promise<void> {
  await trx.selectFrom('runs').select('id').where('id', '=', run).forNoKeyUpdate().execute()
  await trx
    .withTables<StageTables>()
    .updateTable('tasks')
    .set({ state: 'cancelled', finished_at: clock })
    .where('run_id', '=', run)
    .where(isRemoved)
    .execute()
  await trx
    .updateTable('slices')
    .set({ done_at: clock })
    .where('run_id', '=', run)
    .where('done_at', 'is', null)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('tasks')
            .whereRef('tasks.run_id', '=', 'slices.run_id')
            .whereRef('tasks.slice', '=', 'slices.slice')
            .where('tasks.state', '=', 'open'),
        ),
      ),
    )
    .execute()
}

/** Rejects a nightly list that has shrunk by more than half, because the file is probably an incomplete export. */
export async function refuseShrunken(
  trx: Transaction<DB>,
  list: number,
  { kind, source, list: name }: Pick<PlanOrder, 'kind' | 'source' | 'list'>,
): Promise<void> {
  if (kind !== 'nightly' || source === null) return
  const members = trx.selectFrom('list_queries').where('list_id', '=', list)
  const newest = members.select(({ fn }) => fn.max('last_seen').as('newest'))
  const before = await countOf(trx, members.where('last_seen', '=', newest).select('query_id'))
  const held = await countOf(trx, trx.withTables<StageTables>().selectFrom('merged').select('id'))
  if (before < 20 || held * 2 >= before) return
  throw new Misuse(
    `expected ${name} to contain about ${count(before, 'query')}, as when it was last read, got ${formatNumber(held)}; if the change is intended, enqueue the list once by hand`,
  )
}
