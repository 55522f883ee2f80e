import { codeOf } from '../shared/errors.ts'
import { storing } from '../store/answers/answers.ts'
import type { Database } from '../store/database.ts'
import {
  booksChanged,
  readCalls,
  saveSettlement,
  type OpenCall,
} from '../store/ledger/settlement.ts'
import type { Clerk, Entry, Matched, Recorded } from './entry.ts'
import { judgeTasks, settlementOf } from './settlement.ts'

/** What came of writing entries down. */
export interface Recording {
  readonly recorded: readonly Recorded[]
  /** Entries of calls that this database does not know: it was set back, or it is another one. */
  readonly strangers: readonly Entry[]
}

/** A call or its task changes while its end is written down only when somebody else gives it up in that moment. */
const mostTries = 5

/**
 * Answers, money and task states in one transaction: a received answer is never bought again. What the ends of calls
 * mean is worked out without a lock on anything, and written only if the calls are as they were read.
 */
export async function record(
  db: Database,
  clerk: Clerk,
  entries: readonly Entry[],
): Promise<Recording> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await recordOnce(db, clerk, entries)
    } catch (error) {
      if (codeOf(error) !== booksChanged || tries === mostTries) throw error
    }
  }
}

async function recordOnce(
  db: Database,
  clerk: Clerk,
  entries: readonly Entry[],
): Promise<Recording> {
  const ids = entries.map(({ call }) => call.id)
  const rows = new Map((await readCalls(db, clerk.account, ids)).map((row) => [row.id, row]))
  const known = entries.flatMap((entry): Matched[] => {
    const call = rows.get(entry.call.id)
    return call !== undefined && isOf(entry, call) ? [{ entry, call }] : []
  })
  const matched = once(known.filter(tellsMore))
  const jitter = Math.random()
  const changes = judgeTasks(matched, { rebuy: clerk.rebuy, jitter })
  if (matched.length > 0) {
    const answers = matched.flatMap(({ entry }) => (entry.answer === null ? [] : [entry.answer]))
    await saveSettlement(db, settlementOf(clerk, { matched, changes, jitter }), storing(answers))
  }
  const ours = new Set(known.map(({ entry }) => entry))
  return {
    recorded: known.map(({ call }) => ({
      call: call.id,
      task: call.task_id,
      state: changes.get(call.task_id)?.state ?? call.state,
      waitMs: changes.get(call.task_id)?.waitMs ?? null,
    })),
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
  // Given up before: what counts now is an answer, its price, or the word of who knows that it was never sent.
  const answered = entry.effect.kind === 'answered'
  return call.outcome === 'unknown' && (answered || entry.ending.kind !== 'unknown')
}

function once(matched: readonly Matched[]): Matched[] {
  return [...new Map(matched.map((match) => [match.call.id, match])).values()]
}
