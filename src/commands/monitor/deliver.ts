import { reasonOf } from '../../shared/errors.ts'
import type { Webhook } from '../../shared/reading.ts'
import { dayMs } from '../../shared/time/duration.ts'
import type { Database } from '../../store/database.ts'
import {
  claimNotice,
  putOffNotice,
  settleNotice,
  type Claimed,
} from '../../store/operator/notices.ts'
import { asTyped } from '../../shared/terminal/invocation.ts'
import { post, refusalOf, type Posted } from './webhook.ts'

// Longer than a receiver may take: what a process was sending that was killed is sent by another one after this.
const claimMs = 60_000
const pausesMs = [5_000, 15_000, 60_000, 300_000, 900_000, 1_800_000] as const
// A receiver that is gone for the night is back in the morning.
const giveUpMs = dayMs

/** Statuses by which a receiver refuses this notice alone; after any other failure the rest would fail as well. */
const ownFault = new Set([400, 413, 422])

/** Sends what is due, one after the other; gives back why something could not be sent, null when nothing failed. */
export async function deliver(db: Database, webhook: Webhook): Promise<string | null> {
  let problem: string | null = null
  for (;;) {
    const notice = await claimNotice(db, { kinds: webhook.events, forMs: claimMs })
    if (notice === null) return problem
    const failure = await tryOnce(webhook, notice)
    if (failure === null) {
      await settleNotice(db, notice.id)
      continue
    }
    const usual = pausesMs[notice.tries - 1] ?? pausesMs[pausesMs.length - 1] ?? claimMs
    const waitMs = Math.max(failure.posted?.waitMs ?? 0, usual * (1 + Math.random() / 10))
    const gone = await putOffNotice(db, notice.id, { problem: failure.problem, waitMs, giveUpMs })
    problem = gone ? `${failure.problem}; a notice is given up after a day` : failure.problem
    if (!ownFault.has(failure.posted?.status ?? 0)) return problem
  }
}

interface Failure {
  readonly problem: string
  readonly posted: Posted | null
}

async function tryOnce(webhook: Webhook, notice: Claimed): Promise<Failure | null> {
  try {
    const posted = await post(webhook, { ...notice, text: asTyped(notice.text) })
    return posted.ok ? null : { problem: refusalOf(posted), posted }
  } catch (error) {
    return { problem: reasonOf(error), posted: null }
  }
}
