// Deletes only old raw bodies.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, printJson, say, addYesHint } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { clockBefore } from '../../base/database/clock.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { readDuration } from '../../base/time/zone.ts'
import { openMill } from '../../core/mill.ts'

interface PruneOptions {
  readonly older?: string
  readonly yes?: true
}

export async function prune({ options, env, closers }: Call<PruneOptions>): Promise<Exit> {
  const olderMs = readDuration(options.older ?? '')
  if (olderMs === null) {
    throw new Misuse(
      `expected --older to be an age like 90d, got ${options.older ?? 'nothing'}; run: ${npmRun('prune --')} --older 90d`,
    )
  }
  const config = readConfig(env)
  const { db } = await openMill({ config, closers, say, name: 'prune', connections: 1 })
  const dry = options.yes !== true
  const { bytes, unread, ...found } = await countBodies(db, olderMs)
  const bodies = dry ? found.bodies : await pruneBodies(db, olderMs)
  if (options.json === true) printJson({ bodies, bytes, unread, dry_run: dry })
  const size = `${(bytes / 1_000_000).toFixed(1)} MB`
  say(
    `${bodies} bodies (${size}) older than ${options.older} ${dry ? `would be deleted: ${addYesHint}` : 'were deleted'}`,
  )
  if (unread > 0) {
    say(
      `${unread} of them ${dry ? 'belong' : 'belonged'} to answers that could not be parsed; without the bodies, ${npmRun('reparse')} cannot repair them`,
    )
  }
  return exits.done
}

// Number of bodies per transaction, small enough that settlements do not noticeably wait for locks or the disk.
const batch = 2000

/** Counts the bodies that `pruneBodies` would delete. Unreadable answers can't be parsed again without their bodies. */
export function countBodies(db: Database, olderMs: number) {
  return db
    .selectFrom('raw_answers as r')
    .leftJoin('searches as s', 's.id', 'r.call_id')
    .select((eb) => [
      eb.fn.countAll<number>().as('bodies'),
      eb.fn
        .coalesce(eb.fn.sum<number>(eb.fn<number>('octet_length', ['r.body'])), eb.lit(0))
        .as('bytes'),
      eb.fn.countAll<number>().filterWhere('s.parse_error', 'is not', null).as('unread'),
    ])
    .where('r.received_at', '<', clockBefore(olderMs))
    .executeTakeFirstOrThrow()
}

/** Stores a fixed cutoff, deletes older bodies in small transactions, and returns their number. */
export async function pruneBodies(db: Database, olderMs: number): Promise<number> {
  const { id: pruning } = await db
    .insertInto('prunings')
    .values({ received_before: clockBefore(olderMs) })
    .returning('id')
    .executeTakeFirstOrThrow()
  let total = 0
  for (let after = 0; ;) {
    const { bodies, last } = await pruneBatch(db, pruning, after)
    if (last === null) return total
    after = last
    total += bodies
  }
}

async function pruneBatch(db: Database, pruning: number, after: number) {
  return db
    .with('old', (cte) =>
      cte
        .selectFrom('raw_answers')
        .where('received_at', '<', (eb) =>
          eb.selectFrom('prunings').where('id', '=', pruning).select('received_before'),
        )
        .where('call_id', '>', after)
        .orderBy('call_id')
        .limit(batch)
        .select('call_id'),
    )
    .with('gone', (cte) =>
      cte
        .deleteFrom('raw_answers as r')
        .using('old')
        .whereRef('r.call_id', '=', 'old.call_id')
        .returning('r.call_id'),
    )
    .with('noted', (cte) =>
      cte
        .updateTable('prunings')
        .set(({ eb, fn }) => ({
          bodies: eb('bodies', '+', cte.selectFrom('gone').select(fn.countAll<number>().as('n'))),
        }))
        .where('id', '=', pruning),
    )
    .selectFrom('gone')
    .select(({ fn }) => [
      fn.countAll<number>().as('bodies'),
      fn.max<number | null>('gone.call_id').as('last'),
    ])
    .executeTakeFirstOrThrow()
}
