import { codeOf } from '../shared/errors.ts'
import { storing } from '../store/answers/answers.ts'
import type { Database } from '../store/database.ts'
import { booksChanged, readCalls, saveSettlement } from '../store/ledger/settlement.ts'
import type { Clerk, Entry, Recorded } from './entry.ts'
import { matchEntries } from './match.ts'
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
  const { known, matched, strangers } = matchEntries(
    entries,
    await readCalls(db, clerk.account, ids),
  )
  const jitter = Math.random()
  const changes = judgeTasks(matched, { rebuy: clerk.rebuy, jitter })
  if (matched.length > 0) {
    const answers = matched.flatMap(({ entry }) => (entry.answer === null ? [] : [entry.answer]))
    await saveSettlement(db, settlementOf(clerk, { matched, changes, jitter }), storing(answers))
  }
  return {
    recorded: known.map(({ call }) => ({
      call: call.id,
      task: call.task_id,
      state: changes.get(call.task_id)?.state ?? call.state,
      waitMs: changes.get(call.task_id)?.waitMs ?? null,
    })),
    strangers,
  }
}
