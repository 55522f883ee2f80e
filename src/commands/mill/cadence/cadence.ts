import type { Origin } from '../../../store/answers/answer.ts'
import type { Database } from '../../../store/database.ts'
import {
  keepNight,
  readOpenDraws,
  type DrawOutcome,
  type OpenDraw,
} from '../../../store/nights/cadence.ts'
import { keepSights } from '../../../store/nights/first-tens.ts'
import { findList } from '../../../store/nights/nights.ts'
import type { Supplier } from '../supplier.ts'
import { dateOf, unpackSights } from './days.ts'
import { dayNumber } from '../../../shared/time/zone.ts'
import { decideNight, usualShare, type KnownQuery } from './night.ts'
import { knownOf, memoryOf } from './replay.ts'
import { differencesBetween, sightOn } from './twins.ts'

interface DatedNight {
  readonly runDate: string
  /** No query rests longer than so many days. */
  readonly longestDays: number
  /** True: a query may be lent the answer of its twin. */
  readonly lends?: boolean
}

interface NamedNight extends DatedNight {
  readonly listName: string
}

/** The night of an adaptive schedule that is about to be planned. */
export interface CadenceNight extends DatedNight {
  readonly list: number
  readonly origin: Origin
  readonly api: string
}

/** Decides a night of a list by its name; one that was never read before has nothing that could be decided. */
export async function decideByName(
  { db, supplier: { origin, api } }: { readonly db: Database; readonly supplier: Supplier },
  { listName, ...night }: NamedNight,
): Promise<void> {
  const list = await findList(db, listName)
  if (list !== null) await decideCadence(db, { list, ...night, origin, api })
}

/**
 * Decides for each member of a list when it is asked next, from the answers of the nights before, and keeps it. The same
 * night may be decided again: nothing changes then but what has been answered meanwhile.
 */
export async function decideCadence(db: Database, night: CadenceNight): Promise<void> {
  const { list, runDate, longestDays, origin, api, lends = false } = night
  const today = dayNumber(runDate)
  const since = dateOf(today - memoryOf(longestDays))
  const order = { list, since, until: runDate, origin, api, own: false }
  const queries = await keepSights(db, order)
  if (queries.length === 0) return
  const known = queries.map(({ id, sights }) => knownOf(String(list), id, unpackSights(sights)))
  const rules = { list: String(list), longest: longestDays, share: usualShare, lends }
  const decisions = decideNight(known, today, rules)
  const draws = await readOpenDraws(db, { list, before: runDate })
  const outcomes = outcomesOf(draws, known)
  const kept = decisions.map(({ due, ...decision }) => ({ ...decision, dueOn: dateOf(due) }))
  await keepNight(db, { list, runDate, longestDays, decisions: kept, outcomes })
}

/** What the queries that were drawn by chance showed, as far as they were answered. */
function outcomesOf(
  draws: readonly OpenDraw[],
  queries: readonly KnownQuery[],
): readonly DrawOutcome[] {
  const known = new Map(queries.map((query) => [query.id, query]))
  return draws.flatMap(({ id, runDate, lentBy }) => {
    const day = dayNumber(runDate)
    const step = known.get(id)?.steps.find((one) => one.day === day)
    if (step === undefined) return []
    const own = known.get(id)?.sights.find((one) => one.day === day)
    const lent = lentBy === null ? null : sightOn(known.get(lentBy)?.sights ?? [], day)
    const differences = own === undefined || lent === null ? null : differencesBetween(lent, own)
    return [{ id, runDate, moves: step.moves, differences }]
  })
}
