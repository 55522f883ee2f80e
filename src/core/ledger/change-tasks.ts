// Cancels runs and lifts stops on request.

import { clock } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { type ExpressionBuilder } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { troubleOf } from '../../base/database/trouble.ts'

// Batch size, which limits how long workers wait for the locks on a run and its tasks.
const portion = 2000

/**
 * Ends a run. Stops all buying, then cancels open tasks in batches. Calls in flight are still settled, and their
 * answers are kept. If the function is interrupted, call it again to continue.
 */
export async function cancelRun(db: Database, run: number): Promise<{ cancelled: number } | null> {
  const ended = await db
    .updateTable('runs')
    .set(({ fn }) => ({ state: 'cancelled', finished_at: fn.coalesce('finished_at', clock) }))
    .where('id', '=', run)
    .where(mayEnd)
    .returning('id')
    .executeTakeFirst()
  if (ended === undefined) return null
  let cancelled = 0
  for (;;) {
    const dropped = await insisting(() => dropTasks(db, run))
    cancelled += dropped
    if (dropped < portion) break
  }
  await db
    .updateTable('slices')
    .set({ done_at: clock })
    .where('run_id', '=', run)
    .where('done_at', 'is', null)
    .execute()
  return { cancelled }
}

/** Matches an open run, or a run whose cancellation was interrupted. */
function mayEnd(eb: ExpressionBuilder<DB, 'runs'>) {
  return eb.or([
    eb('runs.state', 'in', ['planning', 'open']),
    eb.and([
      eb('runs.state', '=', 'cancelled'),
      eb.exists(
        eb
          .selectFrom('tasks')
          .whereRef('tasks.run_id', '=', 'runs.id')
          .where('tasks.state', '=', 'open'),
      ),
    ]),
  ])
}

/** Counts the open tasks that `cancelRun` would end, or returns null if the run cannot be cancelled. */
export async function readOpenTasks(db: Database, run: number): Promise<number | null> {
  const found = await db
    .selectFrom('runs')
    .leftJoin('tasks', (join) =>
      join.onRef('tasks.run_id', '=', 'runs.id').on('tasks.state', '=', 'open'),
    )
    .select(({ fn }) => fn.count<number>('tasks.id').as('open'))
    .where('runs.id', '=', run)
    .where(mayEnd)
    .groupBy('runs.id')
    .executeTakeFirst()
  return found?.open ?? null
}

/** Reads the runs of a list that `cancelRun` would end, oldest first. */
export async function openRunsOf(db: Database, list: string): Promise<readonly number[]> {
  const runs = await db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select('runs.id')
    .where('lists.name', '=', list)
    .where(mayEnd)
    .orderBy('runs.id')
    .execute()
  return runs.map(({ id }) => id)
}

async function dropTasks(db: Database, run: number): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('tasks')
    .set({ state: 'cancelled', finished_at: clock })
    .where('state', '=', 'open')
    .where((eb) =>
      eb(
        'id',
        '=',
        eb.fn.any(
          eb.fn<number[]>('array', [
            eb
              .selectFrom('tasks')
              .select('id')
              .where('run_id', '=', run)
              .where('state', '=', 'open')
              .orderBy('id')
              .limit(portion)
              .forNoKeyUpdate(),
          ]),
        ),
      ),
    )
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Retries a batch if it conflicts with the settlement of the same tasks. */
export async function insisting<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change()
    } catch (error) {
      if (tries === 10 || troubleOf(error) !== 'conflict') throw error
    }
  }
}

/** Lifts an account's stops, and allows rejected keys again. The next call is sent alone to determine the balance. */
export async function liftStops(
  db: Database,
  account: number,
): Promise<readonly { reason: string }[]> {
  return db.transaction().execute(async (trx) => {
    await trx.selectFrom('accounts').where('id', '=', account).forNoKeyUpdate().execute()
    await trx
      .updateTable('accounts')
      .set({
        probe_granted: true,
        blind_calls: 0,
        blocked_keys: [],
        foreign_keys: [],
        not_before: null,
        slowdowns: 0,
        last_probe_at: null,
      })
      .where('id', '=', account)
      .execute()
    return trx
      .updateTable('stops')
      .set({ cleared_at: clock, cleared_by: 'resume' })
      .where('account_id', '=', account)
      .where('cleared_at', 'is', null)
      .where('reason', '<>', 'budget')
      .returning('reason')
      .execute()
  })
}
