// THE MAIN PATH: reserve, call, parse, store. The rest of the repository supports the main path.

import type { Database } from './base/database/database.ts'
import type { Query } from './base/query.ts'
import { yieldInTurn } from './base/waiting.ts'
import { type Bought, entryOf, type Provenance, type Task } from './core/ledger/entry.ts'
import type { RequestedTask } from './core/ledger/admission.ts'
import type { Clocks } from './core/ledger/leases.ts'
import { reserve, type Reserved, type Spender } from './core/ledger/reserve.ts'
import type { CallName, Entry } from './core/ledger/settle.ts'
import type { Api, Reply } from './core/search/call.ts'
import type { Lanes } from './core/search/concurrency.ts'
import { judge, type Verdict } from './core/search/verdict.ts'

/** State of a task after a call was recorded. */
export interface Outcome {
  readonly state: string
  /** Milliseconds until the task may be retried. */
  readonly waitMs: number | null
}

/** Steps for buying answers. */
export interface Steps {
  /** Reserves credits for the given tasks that may be bought now. */
  readonly reserve: (tasks: readonly Task[]) => Promise<Reserved>
  /** Sends one paid request. The lane is released before the reply is stored. */
  readonly call: (task: Task, name: CallName) => Promise<Reply>
  /** Decides what the reply means for its task, the account and all workers. */
  readonly parse: (reply: Reply, query: Query) => Verdict
  /** Stores the body, rows, cost and task state in one transaction. Returns the task's new state. */
  readonly store: (bought: Bought) => Promise<Outcome>
}

/** Buys each of the given tasks at most once. */
export async function buy(
  tasks: readonly Task[],
  steps: Steps,
  ended: (task: Task, outcome: Promise<Outcome>) => void,
): Promise<Reserved> {
  const reserved = await steps.reserve(tasks)
  for (const task of tasks) {
    const call = reserved.granted.get(task.id)
    if (call !== undefined) ended(task, answer(task, call, steps))
  }
  return reserved
}

/** Buys one answer and records it. */
export async function answer(task: Task, call: CallName, steps: Steps): Promise<Outcome> {
  const reply = await steps.call(task, call)
  const verdict = steps.parse(reply, task.query)
  return steps.store({ task, call, reply, verdict })
}

/** Parts of a worker that the pipeline uses. */
export interface Tools {
  readonly mill: { readonly db: Database; readonly supplier: Provenance }
  readonly options: {
    readonly report: (line: string) => void
    /** Called at each `Moment`, so that a test can kill the process at that point. */
    readonly at?: (moment: Moment) => void
    /** Called with the duration of each paid request, in seconds. */
    readonly onCall?: (seconds: number) => void
  }
  readonly spender: Spender
  readonly lease: { readonly term: Clocks }
  readonly api: Api
  readonly lanes: Lanes
  /** Holds calls back after certain replies and during outages. */
  readonly brake: {
    heldBack(term: Clocks): string | null
    applyReply(bought: Bought): void
    recorded(verdict: Verdict): void
  }
  readonly batch: { add(entry: Entry): Promise<Outcome> }
  /** Keeps each reply in a file until it is in the database, so that a crash loses only calls in flight. */
  readonly log: { append(call: CallName, reply: Reply): Promise<void> }
  readonly tally: { reply(verdict: Verdict): void; took(seconds: number): void }
  /** Accepts a rejection of the key only if no later call was answered. */
  readonly keyCheck: { begin(task: number): void; confirm(bought: Bought): Promise<Verdict> }
  readonly outages: { markDatabase(away: boolean, report: (line: string) => void): void }
  readonly onReply: (reply: Reply) => void
  /** Called when a lane is free again. */
  readonly nudge: () => void
}

/** Points at which a test can kill the process. */
export type Moment = 'before_reserve' | 'reserved' | 'replied' | 'stored'

const gatherMs = 3

/** Builds the four steps of a worker's main path. */
export function stepsOf(tools: Tools): Steps {
  // Lease that the worker had just before each reservation, by task id.
  const terms = new Map<number, Clocks>()
  let gathering: NodeJS.Timeout | undefined
  const nudge = () => {
    gathering = undefined
    tools.nudge()
  }
  return {
    reserve: async (tasks) => {
      const { mill, options, spender, outages, lease } = tools
      options.at?.('before_reserve')
      const { term } = lease
      const reserved = await reserve(mill.db, spender, tasks.map(requestOf))
      outages.markDatabase(false, options.report)
      for (const id of reserved.granted.keys()) terms.set(id, term)
      if (reserved.granted.size > 0) options.at?.('reserved')
      return reserved
    },
    call: async (task, name) => {
      const term = terms.get(task.id) ?? tools.lease.term
      terms.delete(task.id)
      const reply = await tools.lanes.run(() => send(tools, { task, name }, term))
      // The lane is free long before the answer is stored. Calls for lanes that become free at about the same time are
      // reserved together.
      gathering ??= setTimeout(nudge, gatherMs)
      await yieldInTurn()
      return reply
    },
    parse: (reply, query) => judge(reply, query, tools.mill.supplier.origin),
    store: async (bought) => {
      const { mill, options, tally, brake, batch, keyCheck } = tools
      if (bought.verdict.kind !== 'unsent') options.at?.('replied')
      brake.applyReply(bought)
      const verdict = await keyCheck.confirm(bought)
      tally.reply(verdict)
      const recorded = await batch.add(entryOf({ ...bought, verdict }, mill.supplier))
      brake.recorded(bought.verdict)
      options.at?.('stored')
      return recorded
    },
  }
}

/** Sends a call's request, unless calls are stopped by an earlier reply or an outage. */
async function send(
  { api, brake, log, options, tally, keyCheck, onReply }: Tools,
  { task: { id, query }, name }: { task: Task; name: CallName },
  term: Clocks,
): Promise<Reply> {
  const held = brake.heldBack(term)
  if (held !== null) {
    const unsent: Reply = { kind: 'unsent', code: held, message: 'released before it was sent' }
    await log.append(name, unsent)
    return unsent
  }
  keyCheck.begin(id)
  const begun = performance.now()
  // The mark is the idempotency key. If a lost answer is requested again, an API with idempotency keys charges only
  // once.
  const reply = await api.call(query, name.mark)
  await log.append(name, reply)
  onReply(reply)
  const seconds = (performance.now() - begun) / 1000
  options.onCall?.(seconds)
  if (reply.kind === 'response') tally.took(seconds)
  return reply
}

/** Builds the reservation request for a task. */
export function requestOf({ id, class: kind, priority }: Task): RequestedTask {
  return { task: id, class: kind, priority }
}
