// Decides which queries of a list are bought on a night, and stores the decision.

import type { Origin } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { statement } from '../../base/database/sql-file.ts'
import { dayNumber } from '../../base/time/zone.ts'
import type { Supplier } from '../../core/mill.ts'
import { findList } from '../../core/nights/nights.ts'
import { storeFirstTens } from './first-tens.ts'
import { decideNight, type KnownQuery, usualShare } from './night.ts'
import { knownOf, memoryOf } from './replay.ts'
import { dateOf, unpackFirstTens } from './comparison.ts'

interface DatedNight {
  readonly runDate: string
  /** Longest interval of a query, in days. */
  readonly longestDays: number
}

interface NamedNight extends DatedNight {
  readonly listName: string
}

/** Night of an adaptive schedule, about to be planned. */
interface CadenceNight extends DatedNight {
  readonly list: number
  readonly origin: Origin
  readonly api: string
}

/** Decides a night of a list given by name; does nothing for a list that was never read. */
export async function decideByName(
  { db, supplier: { origin, api } }: { readonly db: Database; readonly supplier: Supplier },
  { listName, ...night }: NamedNight,
): Promise<void> {
  const list = await findList(db, listName)
  if (list !== null) await decideCadence(db, { list, ...night, origin, api })
}

/**
 * Decides when each member of a list is next bought, based on the answers of earlier nights, and stores it. The same
 * night may be decided again; only answers received since then change the result.
 */
export async function decideCadence(db: Database, night: CadenceNight): Promise<void> {
  const { list, runDate, longestDays, origin, api } = night
  const today = dayNumber(runDate)
  const since = dateOf(today - memoryOf(longestDays))
  const order = { list, since, until: runDate, origin, api, own: false }
  const queries = await storeFirstTens(db, order)
  if (queries.length === 0) return
  const known = queries.map(({ id, first_tens: packed }) =>
    knownOf(String(list), id, unpackFirstTens(packed)),
  )
  const rules = { list: String(list), longest: longestDays, share: usualShare }
  const decisions = decideNight(known, today, rules)
  const draws = await readOpenDraws(db, { list, before: runDate })
  const outcomes = outcomesOf(draws, known)
  const kept = decisions.map(({ due, ...decision }) => ({ ...decision, dueOn: dateOf(due) }))
  await keepNight(db, { list, runDate, longestDays, decisions: kept, outcomes })
}

/** Results of the sampled queries that have been answered. */
function outcomesOf(
  draws: readonly OpenDraw[],
  queries: readonly KnownQuery[],
): readonly DrawOutcome[] {
  const known = new Map(queries.map((query) => [query.id, query]))
  return draws.flatMap(({ id, runDate }) => {
    const day = dayNumber(runDate)
    const step = known.get(id)?.steps.find((one) => one.day === day)
    if (step === undefined) return []
    return [{ id, runDate, moves: step.moves }]
  })
}

interface KeptDecision {
  readonly id: string
  readonly interval: number
  readonly dueOn: string
  readonly byChance: boolean
  readonly why: string
}

/** Decisions about a night of a list, and the results of earlier samples. */
interface KeptNight {
  readonly list: number
  readonly runDate: string
  readonly longestDays: number
  readonly decisions: readonly KeptDecision[]
  readonly outcomes: readonly DrawOutcome[]
}

interface DrawOutcome {
  readonly id: string
  readonly runDate: string
  readonly moves: number
}

/** A sampled query whose result has not been evaluated yet. */
interface OpenDraw {
  readonly id: string
  readonly runDate: string
}

/** Samples of earlier nights that have not been evaluated yet. */
async function readOpenDraws(
  db: Database,
  { list, before }: { readonly list: number; readonly before: string },
): Promise<readonly OpenDraw[]> {
  return db
    .selectFrom('cadence_draws')
    .select(['query_id as id', 'run_date as runDate'])
    .where('list_id', '=', list)
    .where('run_date', '<', before)
    .where('moves', 'is', null)
    .orderBy('run_date')
    .orderBy('query_id')
    .execute()
}

/** Replaces earlier decisions; deciding the same night again changes nothing. */
async function keepNight(db: Database, night: KeptNight): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await keepDecisions(trx, night)
    await keepSums(trx, night)
    await keepDraws(trx, night)
    await keepOutcomes(trx, night)
  })
}

async function keepDecisions(trx: Database, { list, runDate, decisions }: KeptNight) {
  await trx.executeQuery(
    statement('keep_cadence_decisions', {
      ids: decisions.map(({ id }) => id),
      intervals: decisions.map(({ interval }) => interval),
      due: decisions.map(({ dueOn }) => dueOn),
      by_chance: decisions.map(({ byChance }) => byChance),
      reasons: decisions.map(({ why }) => why),
      list,
      run_date: runDate,
    }),
  )
}

async function keepSums(trx: Database, { list, runDate, longestDays }: KeptNight) {
  await trx.executeQuery(
    statement('keep_cadence_night', {
      list,
      run_date: runDate,
      longest_days: longestDays,
    }),
  )
}

async function keepDraws(trx: Database, { list, runDate }: KeptNight) {
  await trx
    .with('undone', (kept) =>
      kept
        .deleteFrom('cadence_draws')
        .where('list_id', '=', list)
        .where('run_date', '=', runDate)
        .where('query_id', 'not in', (eb) =>
          eb
            .selectFrom('cadences')
            .select('query_id')
            .where('list_id', '=', list)
            .where('by_chance', '=', true),
        ),
    )
    .insertInto('cadence_draws')
    .columns(['list_id', 'run_date', 'query_id'])
    .expression((eb) =>
      eb
        .selectFrom('cadences')
        .select(['list_id', 'decided_on', 'query_id'])
        .where('list_id', '=', list)
        .where('by_chance', '=', true),
    )
    .onConflict((conflict) => conflict.columns(['list_id', 'run_date', 'query_id']).doNothing())
    .execute()
}

async function keepOutcomes(trx: Database, { list, outcomes }: KeptNight) {
  await trx.executeQuery(
    statement('keep_cadence_outcomes', {
      ids: outcomes.map(({ id }) => id),
      run_dates: outcomes.map(({ runDate }) => runDate),
      moves: outcomes.map(({ moves }) => moves),
      list,
    }),
  )
}
