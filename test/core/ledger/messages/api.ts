import type { Answer } from '../../../../src/base/answer.ts'
import type { CallName } from '../../../../src/core/ledger/settle.ts'
import type { Reply } from '../../../../src/core/search/call.ts'
import type { Verdict } from '../../../../src/core/search/verdict.ts'
import type { Bought, Task } from '../../../../src/core/ledger/entry.ts'
import type { Party } from './plan.ts'
import type { Message, World } from './world.ts'

const body = Buffer.from('{}')
/** A verdict about a reply that contains nothing. */
export const nothing = {
  ...{ answer: null, creditsUsed: null, creditsRemaining: null },
  ...{ code: '', message: '', waitMs: null },
}

/** The process that makes paid requests. */
interface Caller extends Party {
  readonly clerk: { readonly account: number }
  readonly state: string
  readonly flying: ReadonlyMap<string, unknown>
  readonly hear: (bought: Bought) => void
}

/** A paid request in transit. The API charges it each time it arrives. */
export function requestOf(
  world: World,
  process: Caller,
  { task, call }: { task: Task; call: CallName },
): Message {
  const { account } = process.clerk
  const mark = call.mark ?? ''
  let times = 0
  const run = () => {
    if (world.truth.isOver(mark)) return
    times += 1
    if (times > 1) world.truth.copied(mark)
    const luck = hash(`${call.id} ${task.id} ${times} ${world.now}`)
    const verdict = serve(world, { account, mark, luck, again: times > 1, asked: task.queryId })
    const reply = () => {
      // A reply that no process waits for any more, or a copy of one.
      if (process.state === 'dead' || !process.flying.has(mark)) return
      const receivedAt = new Date(world.now)
      process.hear({ task, call, verdict, reply: asReply(verdict, receivedAt) })
    }
    world.send({ to: process, from: process, run: reply })
  }
  return { to: 'api', from: process, run }
}

function asReply(verdict: Verdict, receivedAt: Date): Reply {
  const { kind } = verdict
  if (kind === 'lost') {
    return { kind, code: '', message: '', status: null, partial: null, receivedAt }
  }
  const response = { kind: 'response', status: 200, body, truncated: false } as const
  return { ...response, retryAfter: null, replayMs: null, receivedAt }
}

interface Request {
  readonly account: number
  readonly mark: string
  readonly luck: number
  readonly again: boolean
  readonly asked: string
}

function serve(world: World, { account, mark, luck, again, asked }: Request): Verdict {
  const { price, faults } = world.plan
  const times = world.tables.shelf.nextCall > price.jumpsAfter ? 3 : 1
  const cost = times * (price.least + (luck % (price.range + 1)))
  const fault = world.calm || (luck >>> 4) % 16 >= faults ? -1 : (luck >>> 8) % 7
  if ((world.truth.balances[account] ?? 0) < cost) return { kind: 'no_credit', ...nothing }
  if (fault === 0)
    return { ...nothing, kind: 'slow_down', waitMs: (luck >>> 12) % 2 === 0 ? null : 5_000 }
  if (fault === 1) return { kind: 'refused', ...nothing }
  if (fault === 2) return { kind: 'faulty', ...nothing }
  world.truth.charged(mark, cost, again)
  if (fault === 3) return { kind: 'lost', ...nothing }
  if (fault === 4) return { kind: 'faulty', ...nothing }
  const bill = { creditsUsed: cost, creditsRemaining: world.truth.balances[account] ?? 0 }
  // The requested query is carried in a field of the answer.
  const answer = { parseError: null, intent: asked, ...bill } as unknown as Answer
  const answered = { ...nothing, kind: 'answered', answer, code: null, message: null } as const
  if (fault === 5) return answered
  if (fault === 6) return { ...answered, creditsUsed: cost }
  return { ...answered, ...bill }
}

function hash(text: string): number {
  let value = 2_166_136_261
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 16_777_619)
  }
  return value >>> 1
}
