import type { Database } from '../store/database.ts'
import { readBooks } from '../store/ledger/books.ts'
import { saveReservation } from '../store/ledger/reservation.ts'
import { readWaiting } from '../store/ledger/waiting.ts'
import { broughtBy, decideOn, expectForward, lookAt, type Reserved } from './decide.ts'
import { giveUp, reservationOf, type Decision, type Spender } from './decision.ts'
import type { CallName } from './entry.ts'
import { countUrgent, scarcePriorities, type Wanted } from './triage.ts'

/** Near the floor every change of the books makes a decision void; so many in a row are waited out. */
const mostTries = 12
const contendedMs = 20

/**
 * Reserves what is about to be sent. It is decided without a lock on what the tables say, and written by one statement
 * only if that still stands; otherwise it is decided anew.
 */
export async function reserve(
  db: Database,
  spender: Spender,
  wanted: readonly Wanted[],
): Promise<Reserved> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const [books, { lease_live: leaseLive, tasks }] = await Promise.all([
      readBooks(db, spender.account),
      readWaiting(db, { ...spender, tasks: wanted.map(({ task }) => task) }),
    ])
    expectForward(spender, books)
    if (!leaseLive) return nothing({ kind: 'no_lease' })
    const look = lookAt(spender, { wanted, books, tasks })
    const { ready } = look.sorted
    const decision = decideOn(look, await countUrgent(db, ready, scarcePriorities(ready, look)))
    const granted = await write(db, spender, decision)
    if (granted !== null) return broughtBy(decision, granted)
  }
  return nothing({ kind: 'wait', ms: contendedMs })
}

/** Gives back which call serves which task; null when what the decision rests on has changed. */
async function write(
  db: Database,
  spender: Spender,
  decision: Decision,
): Promise<ReadonlyMap<number, CallName> | null> {
  const reservation = reservationOf(spender, decision)
  if (reservation === null) return new Map()
  const marks = new Map(reservation.grants.map(({ task, mark }) => [task, mark]))
  try {
    const calls = await saveReservation(db, reservation)
    if (calls === null) return null
    return new Map([...calls].map(([task, id]) => [task, { id, mark: marks.get(task) ?? null }]))
  } catch (error) {
    giveUp(spender.givenUp, marks.values())
    throw error
  }
}

function nothing(rest: Reserved['rest']): Reserved {
  return { granted: new Map(), gone: [], reused: 0, later: [], rest, affordable: null }
}
