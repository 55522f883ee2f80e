import { type Exit, exits, unhandled } from '../../shared/errors.ts'
import { flawText } from '../../shared/terminal/wording.ts'
import { leftUnaffordable } from '../../store/ledger/standstill.ts'
import { readAccount } from '../../store/operator/status.ts'
import type { Mill } from '../mill/mill.ts'
import type { Finish, Summary } from './tally.ts'

const reasons: Readonly<Record<Finish, string>> = {
  completed: 'nothing is left to do',
  credit_floor: 'stopped at the credit floor; top up, then: npm run resume',
  budget: 'a budget is used up; npm run budget shows them',
  auth: 'the API refused the key; set another SEARCH_API_KEY, or: npm run resume',
  stalled: 'the API only ever asks to slow down; try again later',
  unreachable: 'the database, the queue or the API is out of reach',
  interrupted: 'stopped; the same command goes on from here',
}

/** Before the last line: what failed by its code, how long answers took, and the estimate against the bill. */
export function sumLines(summary: Summary): string[] {
  const { failures, latency_ms: latency, credits_expected: expected, credits_used: used } = summary
  const lines: string[] = []
  const codes = Object.entries(failures).map(([code, tasks]) => `${tasks} ${code}`)
  if (codes.length > 0) lines.push(`not well in its runs: ${codes.join(', ')}`)
  const { median, p95 } = latency
  if (median === null || p95 === null) return lines
  const bill =
    expected === null
      ? `${used} credits paid; there was no price to expect anything by`
      : `${expected} credits expected by the prices paid before, ${used} paid`
  lines.push(`answers took ${inSeconds(median)} (median), ${inSeconds(p95)} (95 of 100); ${bill}`)
  return lines
}

function inSeconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.round(ms / 1000)} s`
}

/** What a worker says last: what it did, what that cost, why it ended, and what to type next. */
export async function lastLine(mill: Mill, summary: Summary): Promise<string> {
  const { answered, reused, failed, unknown, unreadable, calls, credits_used: used } = summary
  const left = summary.credits_remaining === null ? '' : `, ${summary.credits_remaining} left`
  const sandbox = mill.supplier.origin === 'sandbox' ? 'SANDBOX, no real credits are spent: ' : ''
  const kept = unreadable === 0 ? '' : `, ${unreadable} unreadable (${whyUnreadable(summary)})`
  const others = summary.run_failures - failed - unknown - unreadable
  const besides =
    others > 0 ? `; ${others} more of its runs failed, are unknown or cannot be read` : ''
  const reason = await whyEnded(mill, summary)
  return `${sandbox}${answered} answered, ${reused} reused, ${failed} failed, ${unknown} unknown${kept}${besides}; ${calls} calls, ${used} credits used${left}; ${reason}`
}

/** Names what `reparse` cannot mend. */
function whyUnreadable(summary: Summary): string {
  const { unreadable, paid_refusal, other_query } = summary
  const parts = [flawText(summary), 'npm run reparse']
  if (unreadable === paid_refusal + other_query) parts.pop()
  return parts.filter((part) => part !== '').join('; ')
}

/** Why the work ended, by the stop that stands where one does, and what to type. */
async function whyEnded({ db, supplier }: Mill, { finish, seconds }: Summary): Promise<string> {
  if (finish !== 'credit_floor' && finish !== 'auth' && finish !== 'budget') return reasons[finish]
  const account = await readAccount(db, { name: supplier.account, kind: supplier.origin })
  const stop = account?.stops.find(({ reason }) => reason === finish)
  if (stop !== undefined) {
    return `${finish === 'budget' ? stop.detail : reasons[finish]} (since ${stop.since})`
  }
  if (finish !== 'budget') return reasons[finish]
  // A run or a list that has spent its own budget stops nobody else: no stop stands then.
  return (await leftUnaffordable(db, (seconds + slackSeconds) * 1_000)) === 'list'
    ? 'the budget of a list for this month is used up; npm run budget shows it; after npm run budget -- --list NAME --credits N: npm run retry -- --state unaffordable'
    : 'the budget of a run is used up; enqueue its list again with a greater --budget, or: npm run retry -- --state unaffordable --budget N'
}

/** Since the summary was made some moments have passed. */
const slackSeconds = 10

/** The exit code of a worker that ended so. */
export function exitOf(
  { finish, run_failures: failures }: Pick<Summary, 'finish' | 'run_failures'>,
  signal: AbortSignal,
): Exit {
  switch (finish) {
    case 'completed':
      return failures > 0 ? exits.failures : exits.done
    case 'credit_floor':
    case 'budget':
      return exits.stopped
    case 'auth':
      return exits.key
    case 'stalled':
    case 'unreachable':
      return exits.unreachable
    case 'interrupted':
      return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
    default:
      throw unhandled('finish', finish)
  }
}
