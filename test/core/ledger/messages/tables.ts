import type { StoredAnswer } from '../../../../src/base/answer.ts'
import { constants } from '../../../../src/core/ledger/account.ts'
import { newAccount } from '../new-account.ts'
import type { Books } from '../../../../src/core/ledger/books.ts'
import type { OpenCall, Settlement } from '../../../../src/core/ledger/settle.ts'
import type { readWaiting, WaitingTask } from '../../../../src/core/ledger/waiting.ts'
import { apply } from '../settle-model.ts'
import { type AccountBooks, type CallRow, type RunRow, Shelf, type TaskRow } from './rows.ts'

export const leaseMs = 90_000

/** The error code of a statement whose assumptions no longer hold. */
export class BooksChanged extends Error {}

/** The statements of the ledger on one database. Each is atomic. */
export class Tables {
  shelf = new Shelf()
  now: number
  event = 0

  /** Budget that all runs share. */
  readonly listBudget: number | null

  constructor(now: number, accounts: number, listBudget: number | null) {
    this.now = now
    this.listBudget = listBudget
    for (let id = 0; id < accounts; id += 1) {
      this.shelf.accounts.push({ account: newAccount, costs: new Map(), version: 1 })
    }
  }

  account(id: number): AccountBooks {
    const books = this.shelf.accounts[id]
    if (books === undefined) throw new Error(`expected an account ${id}`)
    return books
  }

  floorOf(account: number): number {
    let floor = 0
    for (const worker of this.shelf.workers.values()) {
      if (worker.account === account && this.isLive(worker.id))
        floor = Math.max(floor, worker.floor)
    }
    return floor
  }

  isLive(id: number): boolean {
    const worker = this.shelf.workers.get(id)
    return worker !== undefined && !worker.stopped && worker.leaseUntil > this.now
  }

  inFlight(test: (call: CallRow) => boolean): boolean {
    for (const id of this.shelf.flying) {
      const call = this.shelf.calls.get(id)
      if (call !== undefined && test(call)) return true
    }
    return false
  }

  readBooks(id: number): Books {
    const { account, costs, version } = this.account(id)
    return {
      account,
      version: String(version),
      now_ms: this.now,
      floor: this.floorOf(id),
      costs,
      stops: [],
    }
  }

  readWaiting(
    account: number,
    worker: number,
    ids: readonly number[],
  ): Awaited<ReturnType<typeof readWaiting>> {
    const found = ids.flatMap((id) => this.shelf.tasks.get(id) ?? [])
    const tasks = found.map((task) => this.#waiting(account, task))
    return { lease_live: this.isLive(worker), tasks }
  }

  #waiting(account: number, task: TaskRow): WaitingTask {
    const run = this.run(task.run)
    const { id, query, state, notBefore, version } = task
    return {
      ...{ id, version: String(version), query_id: query, state, run_id: task.run, run_open: true },
      ...{ budget: run.budget, spent: run.spent + run.uncertain, reserved: run.reserved },
      list: this.listPurse(),
      busy: this.inFlight((call) => {
        return call.task === id || (call.account === account && call.query === query)
      }),
      due: notBefore <= this.now,
      max_age_ms: run.maxAgeMs,
      fresh: this.freshAnswer(query, run.maxAgeMs),
    }
  }

  freshAnswer(query: string, maxAgeMs: number): number | null {
    for (const [id, answer] of this.shelf.answers) {
      if (answer.query === query && answer.at > this.now - maxAgeMs) return id
    }
    return null
  }

  listPurse(): WaitingTask['list'] {
    const { listBudget: budget } = this
    if (budget === null) return null
    const sum = (of: 'spent' | 'uncertain' | 'reserved') =>
      this.shelf.runs.reduce((total, run) => total + run[of], 0)
    return {
      ...{ key: 'list', budget, spent: sum('spent') + sum('uncertain') },
      reserved: sum('reserved'),
    }
  }

  run(id: number): RunRow {
    const run = this.shelf.runs[id]
    if (run === undefined) throw new Error(`expected a run ${id}`)
    return run
  }

  readCalls(account: number, ids: readonly number[]): readonly OpenCall[] {
    return ids.flatMap((id): OpenCall[] => {
      const call = this.shelf.calls.get(id)
      const task = call === undefined ? undefined : this.shelf.tasks.get(call.task)
      if (call === undefined || task === undefined || call.account !== account) return []
      return [
        {
          ...{
            id,
            mark: call.mark,
            outcome: call.outcome,
            washed: call.washed,
            start_seq: call.seq,
          },
          ...{ sent_at_ms: call.sentAt, start_total: call.startTotal, class: call.class },
          least_told: null,
          ...{ credits_reserved: call.bound, query_id: call.query, task_id: task.id },
          ...{ version: String(task.version), run_id: task.run, state: task.state },
          ...{ attempts: task.attempts, ambiguous: task.ambiguous, deaths: task.deaths },
        },
      ]
    })
  }

  enter(given: { process: number; account: number; floor: number }): number {
    const id = this.shelf.nextWorker
    this.shelf.nextWorker += 1
    const leaseUntil = this.now + leaseMs
    this.shelf.workers.set(id, { ...given, id, leaseUntil, stopped: false })
    return id
  }

  /** Null if the worker is unknown. */
  beat(id: number, process: number): boolean | null {
    const row = this.shelf.workers.get(id)
    if (row === undefined || row.process !== process) return null
    this.shelf.workers.set(id, { ...row, leaseUntil: this.now + leaseMs })
    return row.leaseUntil > this.now
  }

  abandoned(): readonly CallRow[] {
    return [...this.shelf.calls.values()].filter((call) => {
      const worker = this.shelf.workers.get(call.worker)
      const over = worker !== undefined && (worker.leaseUntil < this.now || worker.stopped)
      return call.outcome === null && over
    })
  }

  marked(id: number, marks: ReadonlySet<string>): readonly CallRow[] {
    return [...this.shelf.calls.values()].filter(({ worker, outcome, mark }) => {
      return worker === id && outcome === null && marks.has(mark)
    })
  }

  saveSettlement(settlement: Settlement, answers: readonly StoredAnswer[]): void {
    this.#expectUnchanged(settlement)
    const { account_id: id, calls } = settlement
    const { account, costs, version } = this.account(id)
    const ended = new Set(calls.map((call) => call.id))
    const held = [...this.shelf.calls.values()].filter((call) => {
      return (
        call.account === id && call.outcome === 'unknown' && !call.washed && !ended.has(call.id)
      )
    })
    const settled = apply(account, costs, {
      change: settlement.change,
      held: held.map((call) => ({ ...call, call: call.id })),
      ...{ now: this.now, jitter: 0, floor: Math.max(settlement.floor, this.floorOf(id)) },
    })
    this.event += 1
    this.shelf.accounts[id] = {
      account: settled.account,
      costs: settled.costs,
      version: version + 1,
    }
    for (const one of settled.washed) this.#change(one, { washed: true })
    for (const { call, bound } of settled.lowered) {
      const before = this.#change(call, { bound })
      const run = this.shelf.tasks.get(before.task)?.run ?? 0
      this.#spend({ run, spent: 0, uncertain: bound - before.bound, reserved: 0 })
    }
    for (const call of calls) this.#end(call)
    for (const task of settlement.tasks) this.#judge(task)
    for (const change of settlement.runs) this.#spend(change)
    for (const answer of answers) this.#store(answer)
  }

  #expectUnchanged({ calls, tasks }: Settlement): void {
    for (const { id, mark, was, was_washed: washed, bound } of calls) {
      const call = this.shelf.calls.get(id)
      const same =
        call !== undefined &&
        call.mark === (mark ?? null) &&
        call.outcome === (was ?? null) &&
        call.washed === washed &&
        call.bound === bound
      if (!same) throw new BooksChanged()
    }
    for (const { id, version } of tasks) {
      if (String(this.shelf.tasks.get(id)?.version) !== version) throw new BooksChanged()
    }
  }

  #change(id: number, more: Partial<CallRow>): CallRow {
    const call = this.shelf.calls.get(id)
    if (call === undefined) throw new Error(`expected a call ${id}`)
    this.shelf.calls.set(id, { ...call, ...more })
    return call
  }

  #end({
    id,
    outcome,
    credits_used: used,
    credits_remaining: remaining,
  }: Settlement['calls'][number]) {
    const call = this.shelf.calls.get(id)
    const first = call?.outcome === null
    this.shelf.flying.delete(id)
    this.#change(id, {
      outcome,
      ...(first ? { unknownAt: this.now } : {}),
      used: outcome === 'settled' ? (used ?? 0) : 0,
      remaining: remaining ?? null,
    })
  }

  #judge(judged: Settlement['tasks'][number]): void {
    const task = this.shelf.tasks.get(judged.id)
    if (task === undefined) return
    this.shelf.version += 1
    this.shelf.tasks.set(task.id, {
      ...task,
      ...{ state: judged.state, attempts: judged.attempts, ambiguous: judged.ambiguous },
      deaths: judged.deaths,
      search: task.search ?? judged.search_id ?? null,
      notBefore: (judged.wait_ms ?? null) === null ? 0 : this.now + (judged.wait_ms ?? 0),
      version: this.shelf.version,
    })
  }

  #spend({ run: id, spent, uncertain, reserved }: Settlement['runs'][number]): void {
    const run = this.run(id)
    this.shelf.runs[id] = {
      ...run,
      spent: Math.max(0, run.spent + spent),
      uncertain: Math.max(0, run.uncertain + uncertain),
      reserved: Math.max(0, run.reserved + reserved),
    }
  }

  #store({ callId, search }: StoredAnswer): void {
    if (search === null || this.shelf.answers.has(callId)) return
    const asked = String(search.answer.intent)
    this.shelf.answers.set(callId, { query: search.queryId, asked, at: this.now })
  }

  static readonly graceMs = constants.graceMs
}
