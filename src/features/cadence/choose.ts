// Decides which of a list's queries are bought on a night, and stores the decisions.

import type { Origin } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { statement } from '../../base/database/sql-file.ts'
import { dayNumber } from '../../base/time/zone.ts'
import type { Mill } from '../../core/mill.ts'
import { findList } from '../../core/nights/nights.ts'
import { readFirstTens } from './first-tens.ts'
import { dateOf, decideNight, type KnownQuery, unpackFirstTens, usualShare } from './night.ts'
import { knownOf, memoryOf } from './replay.ts'

interface CadenceNight {
  readonly list: number
  readonly runDate: string
  /** Longest interval, in days, between purchases of the same query. */
  readonly longestDays: number
  readonly origin: Origin
  readonly api: string
}

/** Decides which queries of a named list to buy on a given night. Does nothing if the list has never been read. */
export async function decideByName(
  { db, supplier: { origin, api } }: Pick<Mill, 'db' | 'supplier'>,
  { listName, ...night }: { listName: string; runDate: string; longestDays: number },
): Promise<void> {
  const list = await findList(db, listName)
  if (list !== null) await decideCadence(db, { list, ...night, origin, api })
}

/** Decides when each member of a list is bought next, and stores the decisions. A night's decisions can be replaced. */
export async function decideCadence(db: Database, night: CadenceNight): Promise<void> {
  const { list, runDate, longestDays, origin, api } = night
  const today = dayNumber(runDate)
  const since = dateOf(today - memoryOf(longestDays))
  const order = { list, since, until: runDate, origin, api, own: false, store: true }
  const queries = await readFirstTens(db, order)
  if (queries.length === 0) return
  const known = queries.map(({ id, first_tens: packed }) =>
    knownOf(String(list), id, unpackFirstTens(packed)),
  )
  const rules = { list: String(list), longest: longestDays, share: usualShare }
  const decisions = decideNight(known, today, rules)
  const outcomes = await readOutcomes(db, night, known)
  // Earlier decisions are replaced, so that deciding the same night twice has the same effect as deciding it once.
  await db.transaction().execute(async (trx) => {
    const due = decisions.map((one) => ({ ...one, due: dateOf(one.due) }))
    const parameters = { decisions: JSON.stringify(due), list, run_date: runDate }
    await trx.executeQuery(statement('keep_cadence_decisions', parameters))
    const sums = { list, run_date: runDate, longest_days: longestDays }
    await trx.executeQuery(statement('keep_cadence_night', sums))
    await keepDraws(trx, night)
    const seen = { outcomes: JSON.stringify(outcomes), list }
    await trx.executeQuery(statement('keep_cadence_outcomes', seen))
  })
}

/** Reads the results for queries that were sampled on earlier nights, unless the results are already recorded. */
async function readOutcomes(
  db: Database,
  { list, runDate }: CadenceNight,
  queries: readonly KnownQuery[],
) {
  const draws = await db
    .selectFrom('cadence_draws')
    .select(['query_id as id', 'run_date'])
    .where('list_id', '=', list)
    .where('run_date', '<', runDate)
    .where('moves', 'is', null)
    .orderBy('run_date')
    .orderBy('query_id')
    .execute()
  const known = new Map(queries.map((query) => [query.id, query]))
  return draws.flatMap((draw) => {
    const day = dayNumber(draw.run_date)
    const step = known.get(draw.id)?.steps.find((one) => one.day === day)
    return step === undefined ? [] : [{ ...draw, moves: step.moves }]
  })
}

async function keepDraws(trx: Database, { list, runDate }: CadenceNight): Promise<void> {
  const drawn = trx.selectFrom('cadences').where('list_id', '=', list).where('by_chance', '=', true)
  await trx
    .with('undone', (kept) =>
      kept
        .deleteFrom('cadence_draws')
        .where('list_id', '=', list)
        .where('run_date', '=', runDate)
        .where('query_id', 'not in', drawn.select('query_id')),
    )
    .insertInto('cadence_draws')
    .columns(['list_id', 'run_date', 'query_id'])
    .expression(drawn.select(['list_id', 'decided_on', 'query_id']))
    .onConflict((conflict) => conflict.columns(['list_id', 'run_date', 'query_id']).doNothing())
    .execute()
}
