// Settles the replies in the logs of dead workers.

import { rmSync } from 'node:fs'
import { sql } from '../../base/database/kysely.ts'
import { count } from '../../base/cli/text.ts'
import { asError, Unreachable } from '../../base/errors.ts'
import { entryOf } from '../ledger/entry.ts'
import type { SettlementRules, Entry } from '../ledger/settle.ts'
import type { Mill } from '../mill.ts'
import { judge } from '../search/verdict.ts'
import { openBatch } from './batch.ts'
import { type LogContent, logFolder, readAbandonedLogs, setLogAside } from './write-ahead-log.ts'

/** Settles calls from abandoned logs, before any purchase and before dead workers' calls are given up. */
export async function settleAbandonedLogs(
  mill: Mill,
  rules: Omit<SettlementRules, 'account'>,
  report: (line: string) => void,
): Promise<void> {
  const { leaseMs } = mill.config
  const logs = readAbandonedLogs(logFolder(mill), { installation: mill.installation, leaseMs })
  for (const log of logs) {
    const { entries, strangers } = await readEntries(mill, log)
    for (const [account, own] of entries) await settleAll(mill, { ...rules, account }, own)
    const settled = [...entries.values()].reduce((sum, own) => sum + own.length, 0)
    if (settled > 0) {
      report(`settled ${count(settled, 'answer')} that a worker had received before it ended`)
    }
    const left = strangers + log.torn
    // Another worker may already have removed the log.
    if (left === 0) rmSync(log.file, { force: true })
    else {
      report(
        `${count(left, 'answer')} in a worker's log cannot be settled (damaged, or without a call in this database); see ${setLogAside(log.file)}`,
      )
    }
  }
}

/** Returns the replies in a log that the ledger lacks, by account, and the number of replies without a known call. */
async function readEntries({ db }: Mill, { replies }: LogContent) {
  const ids = replies.map(({ call }) => call.id)
  const rows = await db
    .selectFrom('calls')
    .innerJoin('queries', 'queries.id', 'calls.query_id')
    .select(['calls.id', 'mark', 'account_id', 'outcome', 'task_id', 'query_id', 'q'])
    .where(({ eb, fn }) => eb('calls.id', '=', fn.any(sql<number[]>`${ids}::bigint[]`)))
    .execute()
  const calls = new Map(rows.map((row) => [row.id, row]))
  const entries = new Map<number, Entry[]>()
  let strangers = 0
  for (const { call, reply, provenance } of replies) {
    const row = calls.get(call.id)
    // A restored database reuses ids, so the mark must match too.
    if (row === undefined || row.mark !== call.mark) {
      strangers += 1
      continue
    }
    const query = { q: row.q, location: null, hl: null, gl: null, num: 0, device: null }
    const verdict = judge(reply, query, provenance.origin)
    // An abandoned call may have been repeated, so only an answer shows how the first request ended.
    const news = row.outcome === null || (row.outcome === 'unknown' && verdict.kind === 'answered')
    if (!news) continue
    const task = { id: row.task_id, queryId: row.query_id }
    const entry = entryOf({ task, call, reply, verdict }, provenance)
    // A rejection of the key is ignored, because a new key may be in use. The first call shows whether the new key works.
    const signal = entry.signal === 'key_refused' ? null : entry.signal
    entries.set(row.account_id, [...(entries.get(row.account_id) ?? []), { ...entry, signal }])
  }
  return { entries, strangers }
}

/** Writes the entries as a batch, like new answers, or one at a time if the batch is rejected. */
async function settleAll(
  mill: Mill,
  rules: SettlementRules,
  entries: readonly Entry[],
): Promise<void> {
  let giveUp: (error: Error) => void = () => undefined
  const stuck = new Promise<never>((_resolve, reject) => (giveUp = reject))
  const batch = openBatch(mill, rules, {
    counted: true,
    onAway: (away) => {
      if (away) giveUp(new Unreachable('the database is not responding; try again'))
    },
    onStuck: (cause) => giveUp(asError(cause)),
    onStrangers: () => giveUp(new Error('the database changed while a log was being settled')),
    onRecorded: () => undefined,
  })
  try {
    await Promise.race([Promise.all(entries.map(async (entry) => batch.add(entry))), stuck])
  } finally {
    batch.abandon()
  }
}
