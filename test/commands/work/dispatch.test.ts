import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Reserved } from '../../../src/credits/reserve.ts'
import { Dispatch } from '../../../src/commands/work/dispatch.ts'
import type { Bought, Outcome, Steps } from '../../../src/pipeline.ts'
import { task } from './pieces.ts'

/** Steps that end when the test says so, and what they were given. */
class Slow {
  readonly stored: Bought[] = []
  #open: (reserved: Reserved) => void = () => undefined
  readonly #written: (() => void)[] = []

  readonly steps: Steps = {
    gate: () => new Promise((resolve) => (this.#open = resolve)),
    call: () => Promise.resolve({ kind: 'unsent', code: 'ENDING', message: 'released' }),
    parse: () => ({ kind: 'unsent', code: 'ENDING', message: 'released' }),
    store: (bought) => {
      this.stored.push(bought)
      return new Promise<Outcome>((resolve) => {
        this.#written.push(() => resolve({ state: 'open', waitMs: null }))
      })
    },
  }

  grant(ids: readonly number[]): void {
    this.#open({
      granted: new Map(ids.map((id) => [id, id * 10])),
      gone: [],
      reused: 0,
      later: [],
      rest: { kind: 'none' },
      affordable: ids.length,
    })
  }

  write(): void {
    for (const done of this.#written.splice(0)) done()
  }
}

test('a slice that comes twice is in hand once: the second delivery ends at once, the first with its tasks', async () => {
  const slow = new Slow()
  const dispatch = new Dispatch({
    steps: slow.steps,
    free: () => 3,
    onGate: () => undefined,
    onTrouble: () => 1_000,
    onEnded: () => undefined,
  })
  const first = dispatch.take([task(1), task(2)])
  await setImmediate()
  expect(await dispatch.take([task(1), task(2)])).toEqual({ open: 2, busy: true })
  const wider = dispatch.take([task(2), task(3)])
  dispatch.end()
  expect(await first).toEqual({ open: 2, busy: false })
  expect(await wider).toEqual({ open: 2, busy: true })
})

test('what the gate lets through while the worker is told to end is seen on its way, and each call is written down', async () => {
  const slow = new Slow()
  const troubles: unknown[] = []
  const dispatch = new Dispatch({
    steps: slow.steps,
    free: () => 3,
    onGate: () => undefined,
    onTrouble: (error) => {
      troubles.push(error)
      return 1_000
    },
    onEnded: () => undefined,
  })
  const left = dispatch.take([task(1), task(2), task(3)])
  await setImmediate()
  expect(dispatch.atGate).toBe(true)
  dispatch.end()
  // All of them are handed back at once: others may take them as soon as their calls are written down.
  expect(await left).toEqual({ open: 3, busy: false })
  expect(dispatch.atGate).toBe(true)
  slow.grant([1, 2, 3])
  await setImmediate()
  expect(dispatch.atGate).toBe(false)
  expect(dispatch.flying).toBe(3)
  expect(slow.stored.map(({ call }) => call)).toEqual([10, 20, 30])
  slow.write()
  await setImmediate()
  expect(dispatch.flying).toBe(0)
  expect(troubles).toEqual([])
})
