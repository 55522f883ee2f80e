import type { Entry } from '../../../../src/core/ledger/settle.ts'
import type { Observed, Party, Plan } from './plan.ts'
import type { Shelf } from './rows.ts'
import { Tables } from './tables.ts'
import { Truth } from './truth.ts'

/** A request or a reply in transit. */
export interface Message {
  readonly to: Party | 'tables' | 'api'
  /** The process that sent it and waits for the reply. */
  readonly from: Party
  readonly run: () => void
}

const start = 1_000 * 86_400_000
export const timeoutMs = 30_000

export class World<Process extends Party = Party> implements Observed {
  readonly plan: Plan
  readonly tables: Tables
  readonly truth: Truth
  net: Message[] = []
  readonly processes: Process[] = []
  /** Answers that wait in files of one machine, and those that match no call. */
  files: { readonly account: number; readonly entries: readonly Entry[] }[] = []
  readonly aside: Entry[] = []
  snapshot: Shelf | null = null
  calm = false

  constructor(plan: Plan) {
    this.plan = plan
    this.tables = new Tables(start, plan.accounts, plan.listBudget)
    this.truth = new Truth(this)
    const { shelf } = this.tables
    shelf.runs = plan.runs.map((run) => ({ ...run, spent: 0, uncertain: 0, reserved: 0 }))
    for (let id = 1; id <= plan.queries * plan.runs.length; id += 1) {
      const query = `q${id % plan.queries}`
      const counts = { attempts: 0, ambiguous: 0, deaths: 0, notBefore: 0, search: null }
      const run = Math.floor((id - 1) / plan.queries)
      const task = { id, run, query, class: '10/-', state: 'open', version: id, ...counts }
      shelf.tasks.set(id, task)
    }
    shelf.version = shelf.tasks.size + 1
  }

  get now(): number {
    return this.tables.now
  }

  send(message: Message): void {
    this.net.push(message)
  }

  /** Delivers a message, unless its receiver is unavailable. */
  deliver(index: number, doubled = false): void {
    const message = this.net[index]
    if (message === undefined) return
    if (typeof message.to === 'object' && message.to.asleep) return
    if (!doubled) this.net.splice(index, 1)
    this.tables.now += 1
    message.run()
  }

  /** Delivers all messages between a process and others in order, with the messages that result. */
  hurry(process: Party, most: number): void {
    for (let count = 0; count < most; count += 1) {
      const index = this.net.findIndex(({ from, to }) => from === process && to !== 'api')
      if (index === -1 || process.asleep) return
      this.deliver(index)
    }
  }

  tick(ms: number): void {
    this.tables.now += ms
    for (const process of this.processes) process.pass(ms)
  }

  /** The database is replaced with a copy: connections break, and requests in transit are lost. */
  setBack(): void {
    if (this.snapshot === null) return
    this.truth.setBack(this.snapshot)
    this.tables.shelf = this.snapshot.copy()
    this.net = this.net.filter(({ to }) => to !== 'tables')
  }
}
