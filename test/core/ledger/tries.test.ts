import { describe, expect, test } from 'vitest'
import { type Effect, nextTry, type Tries } from '../../../src/core/ledger/retry-policy.ts'

const fresh: Tries = { state: 'open', attempts: 0, ambiguous: 0, deaths: 0 }
const patient = { rebuy: true, jitter: 0 }
const words = { code: 'LOST', message: 'no whole answer' }
const lost: Effect = { kind: 'retry', ambiguous: true, death: false, waitMs: null, ...words }
const faulty: Effect = { ...lost, ambiguous: false }

describe('a task', () => {
  test('waits longer before each of five tries, and as long as the API requested', () => {
    const waits = [0, 1, 2, 3].map((attempts) => {
      return nextTry({ ...fresh, attempts }, faulty, patient)?.wait_ms
    })
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000])
    const asked = nextTry(fresh, { ...faulty, waitMs: 3_600_000 }, patient)
    expect(asked?.wait_ms).toBe(3_600_000)
    expect(nextTry({ ...fresh, attempts: 4 }, faulty, patient)?.state).toBe('failed')
  })

  test('is bought again twice after unreadable calls, and is then unknown', () => {
    const states = [0, 1, 2].map((ambiguous) => {
      return nextTry({ ...fresh, attempts: ambiguous, ambiguous }, lost, patient)?.state
    })
    expect(states).toEqual(['open', 'open', 'unknown'])
  })

  test('with hold, is never bought again after an unreadable call', () => {
    const hold = { rebuy: false, jitter: 0 }
    expect(nextTry(fresh, lost, hold)?.state).toBe('unknown')
    expect(nextTry(fresh, faulty, hold)?.state).toBe('open')
  })

  test('with three dead workers is suspected as their cause', () => {
    const death: Effect = { ...lost, death: true }
    expect(nextTry({ ...fresh, deaths: 1 }, death, patient)).toMatchObject({ state: 'open' })
    expect(nextTry({ ...fresh, deaths: 2 }, death, patient)).toMatchObject({
      state: 'unknown',
      error_code: 'POISON',
    })
  })

  test('that ended does not change, whatever arrives late', () => {
    const effects = [lost, faulty, { kind: 'fail', ...words } as const]
    for (const state of ['answered', 'cancelled', 'reused', 'failed', 'unknown']) {
      for (const effect of effects) {
        expect(nextTry({ ...fresh, state }, effect, patient)).toBeNull()
      }
    }
  })

  test('that was given up uses its late answer; one that a person ended does not', () => {
    const answered = (state: string) => nextTry({ ...fresh, state }, { kind: 'answered' }, patient)
    expect(answered('unknown')).toEqual({ ...fresh, state: 'answered', attempts: 1 })
    expect(answered('failed')).toMatchObject({ state: 'answered' })
    for (const state of ['cancelled', 'reused', 'answered']) expect(answered(state)).toBeNull()
  })
})
