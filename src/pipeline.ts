import type { CallName } from './core/ledger/settle.ts'
import type { Reserved } from './core/ledger/reserve.ts'
import type { Query } from './base/query.ts'
import type { Reply } from './core/search/call.ts'
import type { Verdict } from './core/search/verdict.ts'

/** A task that a worker has in hand. */
export interface Task {
  readonly id: number
  readonly run: number
  readonly priority: number
  readonly class: string
  readonly query: Query
  readonly queryId: string
  /** True: workers died while it was asked; it goes out alone, so that no other task is blamed for it. */
  readonly suspect: boolean
  /** True: the API once answered it as if the key were refused. */
  readonly refused: boolean
}

/** One call that came back, with what it means. */
export interface Bought {
  readonly task: Task
  readonly call: CallName
  readonly reply: Reply
  readonly verdict: Verdict
}

/** How a task stands after a call of it was written down. */
export interface Outcome {
  readonly state: string
  /** Milliseconds until it may be tried again. */
  readonly waitMs: number | null
}

/** The steps of the main path, each from a stage of its own. */
export interface Steps {
  /** gate: reserves credits for as many of these as may be asked now. */
  readonly gate: (tasks: readonly Task[]) => Promise<Reserved>
  /** call: one paid request, in a lane that is free again before anything is stored. */
  readonly call: (task: Task, name: CallName) => Promise<Reply>
  /** parse: what the reply means for its task, the account and all workers. */
  readonly parse: (reply: Reply, query: Query) => Verdict
  /** store: body, rows, money and task state in one transaction; gives back how the task stands. */
  readonly store: (bought: Bought) => Promise<Outcome>
}

/** The main path. Tasks in, each bought at most once; everything else in this repository serves these lines. */
export async function buy(
  tasks: readonly Task[],
  steps: Steps,
  ended: (task: Task, outcome: Promise<Outcome>) => void,
): Promise<Reserved> {
  const reserved = await steps.gate(tasks)
  for (const task of tasks) {
    const call = reserved.granted.get(task.id)
    if (call !== undefined) ended(task, answer(task, call, steps))
  }
  return reserved
}

/** Asks for one answer, and has it written down. */
export async function answer(task: Task, call: CallName, steps: Steps): Promise<Outcome> {
  const reply = await steps.call(task, call)
  const verdict = steps.parse(reply, task.query)
  return steps.store({ task, call, reply, verdict })
}
