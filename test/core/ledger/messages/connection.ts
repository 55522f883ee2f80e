import {
  type SettlementRules,
  type Entry,
  judgeTasks,
  matchEntries,
  settlementOf,
} from '../../../../src/core/ledger/settle.ts'
import type { Party } from './plan.ts'
import { BooksChanged } from './tables.ts'
import type { World } from './world.ts'

/** The connection broke or timed out: the requested change may have happened. */
export class Broken extends Error {}

/** A request of a process, until it is answered or given up. */
export interface Asked {
  done: boolean
  readonly fail: (error: Error) => void
}

type Recorded = (failed: boolean, strangers?: readonly Entry[]) => void
export type Then<T> = (answer: T | Error) => void

/** Reads the tables over connections that may break. */
export abstract class Connection implements Party {
  readonly world: World
  state: 'starting' | 'alive' | 'ending' | 'gone' | 'dead' = 'starting'
  asleep = false
  asked: Asked[] = []

  constructor(world: World) {
    this.world = world
  }

  abstract pass(ms: number): void
  abstract holds(mark: string): boolean

  /** Reads the tables; `then` receives the result, or that it is unknown. */
  ask<T>(statement: () => T, then: Then<T>): void {
    const asked: Asked = {
      done: false,
      fail: (error) => {
        if (asked.done) return
        asked.done = true
        this.asked = this.asked.filter((other) => other !== asked)
        if (this.state !== 'dead') then(error)
      },
    }
    this.asked.push(asked)
    const run = () => {
      let answer: T | Error
      try {
        answer = statement()
      } catch (error) {
        if (!(error instanceof BooksChanged)) throw error
        answer = error
      }
      const reply = () => {
        if (asked.done || this.state === 'dead') return
        asked.done = true
        this.asked = this.asked.filter((other) => other !== asked)
        then(answer)
      }
      this.world.send({ to: this, from: this, run: reply })
    }
    this.world.send({ to: 'tables', from: this, run })
  }

  /** Records entries; those unknown to the tables are returned. */
  record(clerk: SettlementRules, entries: readonly Entry[], then: Recorded): void {
    const { tables, truth } = this.world
    const ids = entries.map(({ call }) => call.id)
    this.ask(
      () => tables.readCalls(clerk.account, ids),
      (calls) => {
        if (calls instanceof Error) return then(true)
        const { matched, strangers } = matchEntries(entries, calls)
        const end = () => then(false, strangers)
        if (matched.length === 0) return end()
        const changes = judgeTasks(matched, { rebuy: clerk.rebuy, jitter: 0 })
        const settlement = settlementOf(clerk, { matched, changes, jitter: 0 })
        const answers = matched.flatMap(({ entry }) =>
          entry.answer === null ? [] : [entry.answer],
        )
        const save = () => {
          tables.saveSettlement(settlement, answers)
          for (const answer of answers) truth.stored(answer)
        }
        this.ask(save, (answer) => {
          if (answer instanceof BooksChanged) this.record(clerk, entries, then)
          else if (answer instanceof Error) then(true)
          else end()
        })
      },
    )
  }
}
