import type { OpenCall } from '../store/ledger/settlement.ts'
import type { Entry, Matched } from './entry.ts'

/** Entries beside the rows of their calls. */
interface Match {
  /** Entries of calls that the tables know. */
  readonly known: readonly Matched[]
  /** Those among them that say something new, one for each call. */
  readonly matched: readonly Matched[]
  /** Entries of calls that the tables do not know. */
  readonly strangers: readonly Entry[]
}

/** Finds the call of each entry among the rows that were read. */
export function matchEntries(entries: readonly Entry[], calls: readonly OpenCall[]): Match {
  const rows = new Map(calls.map((row) => [row.id, row]))
  const known = entries.flatMap((entry): Matched[] => {
    const call = rows.get(entry.call.id)
    return call !== undefined && isOf(entry, call) ? [{ entry, call }] : []
  })
  const ours = new Set(known.map(({ entry }) => entry))
  return {
    known,
    matched: once(known.filter(tellsMore)),
    strangers: entries.filter((entry) => !ours.has(entry)),
  }
}

/** A database that was set back gives numbers out anew: the mark tells whether a call is the one that was answered. */
function isOf({ call, answer }: Entry, row: OpenCall): boolean {
  return call.mark === row.mark && (answer?.search?.queryId ?? row.query_id) === row.query_id
}

/** An answer that was written down before (delivered twice, or replayed from a file) changes nothing. */
function tellsMore({ entry, call }: Matched): boolean {
  if (call.outcome === null) return true
  // Given up before: what counts now is an answer, or its price. The word that it was never sent comes too late: the try
  // was counted, and what is held for it is washed out like any other.
  const answered = entry.effect.kind === 'answered'
  return call.outcome === 'unknown' && (answered || entry.ending.kind === 'settled')
}

function once(matched: readonly Matched[]): Matched[] {
  return [...new Map(matched.map((match) => [match.call.id, match])).values()]
}
