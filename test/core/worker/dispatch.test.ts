import { setImmediate } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Reserved } from '../../../src/core/ledger/reserve.ts'
import { Dispatch } from '../../../src/core/worker/dispatch.ts'
import type { Bought } from '../../../src/core/ledger/entry.ts'
import type { Outcome, Steps } from '../../../src/pipeline.ts'
import { bought, task, unsent } from './pieces.ts'

/** Steps that end when the test says so, and their arguments. */
class Slow {
  readonly stored: Bought[] = []
  #open: (reserved: Reserved) => void = () => undefined
  readonly #written: (() => void)[] = []

  readonly steps: Steps = {
    reserve: () => new Promise((resolve) => (this.#open = resolve)),
    call: async () => unsent('ENDING'),
    parse: () => bought(1, unsent('ENDING')).verdict,
    store: (one) => {
      this.stored.push(one)
      return new Promise<Outcome>((resolve) => {
        this.#written.push(() => resolve({ state: 'open', waitMs: null }))
      })
    },
  }

  grant(ids: readonly number[]): void {
    this.#open({
      granted: new Map(ids.map((id) => [id, { id: id * 10, mark: null }])),
      gone: [],
      reused: 0,
      later: [],
      deferral: { kind: 'none' },
      affordable: ids.length,
    })
  }

  write(): void {
    for (const done of this.#written.splice(0)) done()
  }
}

test('a slice that is delivered twice is processed once: the second delivery ends at once, the first with its tasks', async () => {
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

test('calls reserved while the worker is told to end count as in flight, and each is recorded', async () => {
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
  // All of them are returned at once: others may take them as soon as their calls are recorded.
  expect(await left).toEqual({ open: 3, busy: false })
  expect(dispatch.atGate).toBe(true)
  slow.grant([1, 2, 3])
  await setImmediate()
  expect(dispatch.atGate).toBe(false)
  expect(dispatch.flying).toBe(3)
  expect(slow.stored.map(({ call }) => call.id)).toEqual([10, 20, 30])
  slow.write()
  await setImmediate()
  expect(dispatch.flying).toBe(0)
  expect(troubles).toEqual([])
})

describe('a task that stays open after its call', () => {
  /** A dispatcher whose calls end at once, with tasks that may be retried after this long. */
  function openShort(waitMs: number) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const asked: number[] = []
    const outcomes = [
      { state: 'open', waitMs },
      { state: 'answered', waitMs: null },
    ]
    const steps: Steps = {
      reserve: async (tasks) => {
        asked.push(...tasks.map(({ id }) => id))
        return {
          granted: new Map(tasks.map(({ id }) => [id, { id, mark: null }])),
          gone: [],
          reused: 0,
          later: [],
          deferral: { kind: 'none' },
          affordable: 1,
        }
      },
      call: async () => unsent('ENDING'),
      parse: () => bought(1, unsent('ENDING')).verdict,
      store: async () => outcomes.shift() ?? { state: 'answered', waitMs: null },
    }
    const dispatch = new Dispatch({
      steps,
      free: () => 1,
      onGate: () => undefined,
      onTrouble: () => 1_000,
      onEnded: () => undefined,
    })
    return { dispatch, asked }
  }

  test('for a short wait is retried here', async () => {
    const { dispatch, asked } = openShort(1_000)
    const left = dispatch.take([task(1)])
    await setImmediate()
    expect([asked, dispatch.inHand, dispatch.flying]).toEqual([[1], 1, 0])
    await vi.advanceTimersByTimeAsync(1_100)
    expect(await left).toEqual({ open: 0, busy: false })
    expect(asked).toEqual([1, 1])
  })

  test('for a long wait returns to the queue', async () => {
    const { dispatch, asked } = openShort(6_000)
    expect(await dispatch.take([task(1)])).toEqual({ open: 1, busy: false })
    expect([asked, dispatch.inHand]).toEqual([[1], 0])
  })

  test('is returned if the worker ends while it waits', async () => {
    const { dispatch } = openShort(1_000)
    const left = dispatch.take([task(1)])
    await setImmediate()
    dispatch.end()
    expect(await left).toEqual({ open: 1, busy: false })
  })
})
