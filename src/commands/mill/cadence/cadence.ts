import type { Origin } from '../../../store/answers/answer.ts'
import type { Database } from '../../../store/database.ts'
import { keepNight, readOpenDraws } from '../../../store/nights/cadence.ts'
import { readSights } from '../../../store/nights/first-tens.ts'
import { findList } from '../../../store/nights/nights.ts'
import type { Supplier } from '../supplier.ts'
import { dateOf, unpackSights } from './days.ts'
import { dayNumber } from '../../../shared/time/zone.ts'
import { decideNight, usualShare } from './night.ts'
import { knownOf, memoryOf } from './replay.ts'

interface DatedNight {
  readonly runDate: string
  /** No query rests longer than so many days. */
  readonly longestDays: number
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
  { listName, runDate, longestDays }: NamedNight,
): Promise<void> {
  const list = await findList(db, listName)
  if (list !== null) await decideCadence(db, { list, runDate, longestDays, origin, api })
}

/**
 * Decides for each member of a list when it is asked next, from the answers of the nights before, and keeps it. The same
 * night may be decided again: nothing changes then but what has been answered meanwhile.
 */
export async function decideCadence(db: Database, night: CadenceNight): Promise<void> {
  const { list, runDate, longestDays, origin, api } = night
  const today = dayNumber(runDate)
  const since = dateOf(today - memoryOf(longestDays))
  const order = { list, since, until: runDate, origin, api, own: false }
  const queries = await readSights(db, order)
  if (queries.length === 0) return
  const known = queries.map(({ id, sights }) => knownOf(String(list), id, unpackSights(sights)))
  const rules = { list: String(list), longest: longestDays, share: usualShare }
  const decisions = decideNight(known, today, rules)
  const steps = new Map(known.map((query) => [query.id, query.steps]))
  const draws = await readOpenDraws(db, { list, before: runDate })
  const outcomes = draws.flatMap((draw) => {
    const day = dayNumber(draw.runDate)
    const step = steps.get(draw.id)?.find((one) => one.day === day)
    return step === undefined ? [] : [{ ...draw, moves: step.moves }]
  })
  const kept = decisions.map(({ due, ...decision }) => ({ ...decision, dueOn: dateOf(due) }))
  await keepNight(db, { list, runDate, longestDays, decisions: kept, outcomes })
}
