// The steps of the pipeline as a worker takes them.

import type { Bought, Outcome, Steps, Task } from '../../pipeline.ts'
import { reserve, type Reserved, type Spender } from '../ledger/reserve.ts'
import type { CallName } from '../ledger/settle.ts'
import type { Mill } from '../mill.ts'
import type { Api, Reply } from '../search/call.ts'
import type { Lanes } from '../search/lane.ts'
import { judge } from '../search/verdict.ts'
import type { Batch } from './batch.ts'
import { askOf } from './dispatch.ts'
import { entryOf } from './entry.ts'
import type { Clocks, Lease } from './lease.ts'
import type { Brake, Outages, Witnesses } from './outages.ts'
import type { WorkerOptions } from './setup.ts'
import type { Tally } from './summary.ts'

/** What the steps work with: the parts of one worker. */
export interface Tools {
  readonly mill: Mill
  readonly options: WorkerOptions
  readonly spender: Spender
  readonly lease: Pick<Lease, 'term'>
  readonly api: Api
  readonly lanes: Lanes
  readonly brake: Brake
  readonly batch: Batch
  readonly tally: Tally
  readonly witnesses: Witnesses
  readonly outages: Outages
  /** Told of every reply. */
  readonly onReply: (reply: Reply) => void
  /** Called when a lane is free again. */
  readonly nudge: () => void
}

const gatherMs = 3

/** The four steps of the main path, in its order: `buy` in `pipeline.ts` takes each task through them. */
export function stepsOf(tools: Tools): Steps {
  // The lease as it was known before the call of a task was asked for.
  const terms = new Map<number, Clocks>()
  return {
    gate: (tasks) => gate(tools, tasks, terms),
    call: (task, name) => call(tools, { task, name }, terms),
    parse: (reply, query) => judge(reply, query, tools.mill.supplier.origin),
    store: (bought) => store(tools, bought),
  }
}

async function gate(
  tools: Tools,
  tasks: readonly Task[],
  terms: Map<number, Clocks>,
): Promise<Reserved> {
  const { mill, options, spender, outages, lease } = tools
  options.at?.('before_reserve')
  const { term } = lease
  const reserved = await reserve(mill.db, spender, tasks.map(askOf))
  outages.markDatabase(false, options.tell)
  for (const id of reserved.granted.keys()) terms.set(id, term)
  if (reserved.granted.size > 0) options.at?.('reserved')
  return reserved
}

async function call(
  tools: Tools,
  { task, name }: { task: Task; name: CallName },
  terms: Map<number, Clocks>,
): Promise<Reply> {
  const term = terms.get(task.id) ?? tools.lease.term
  terms.delete(task.id)
  const reply = await tools.lanes.run(() => send(tools, { task, name }, term))
  // The lane is free long before the answer is stored; lanes that are freed together make one group at the gate.
  setTimeout(tools.nudge, gatherMs)
  await yieldInTurn()
  return reply
}

async function store(tools: Tools, bought: Bought): Promise<Outcome> {
  const { mill, options, tally, brake, batch, witnesses } = tools
  options.at?.('replied')
  brake.heed(bought)
  const verdict = await witnesses.hear(bought)
  tally.reply(verdict)
  const recorded = await batch.add(entryOf({ ...bought, verdict }, mill.supplier))
  brake.written(bought.verdict)
  options.at?.('stored')
  return recorded
}

/** The paid request of a call, unless something that this process has just learnt holds it back. */
async function send(
  { api, brake, options, tally, witnesses, onReply }: Tools,
  { task: { id, query }, name }: { task: Task; name: CallName },
  term: Clocks,
): Promise<Reply> {
  const held = brake.heldBack(term)
  if (held !== null) return { kind: 'unsent', code: held, message: 'released before it was sent' }
  witnesses.begin(id)
  const begun = performance.now()
  // The mark is the key: asked for again after a loss, the call is charged once by an API that knows such keys.
  const reply = await api.call(query, { key: name.mark })
  onReply(reply)
  const seconds = (performance.now() - begun) / 1000
  options.onCall?.(seconds)
  if (reply.kind === 'response') tally.took(seconds)
  return reply
}

const waiting: (() => void)[] = []

/**
 * Resolves when each earlier caller has had a round of the event loop. Answers that come in their hundreds are parsed in
 * a round each, and replies of PostgreSQL are read between them: a transaction that waits for its reply may hold a row
 * that all workers wait for.
 */
export function yieldInTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(callNext)
  })
}

function callNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(callNext)
}
