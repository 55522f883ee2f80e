import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Brake, Outages } from '../../../src/core/worker/outages.ts'
import { answer, bought, refusal, unsent } from './pieces.ts'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

const term = { steady: 0, wall: 0 }

/** A brake with a lease that covers calls for this long, and the number of repeated checks that it requested. */
function openBrake(covers: () => boolean = () => true) {
  const outages = new Outages()
  const nudge = vi.fn<() => void>()
  const brake = new Brake({ lease: { covers }, timeoutMs: 1_000, outages, nudge })
  return { brake, outages, nudge }
}

describe('a call that is ready to be sent', () => {
  test('is sent unless something prevents it', () => {
    expect(openBrake().brake.heldBack(term)).toBeNull()
  })

  test('is held back if its answer could arrive after the end of the lease', () => {
    expect(openBrake(() => false).brake.heldBack(term)).toBe('LEASE_TOO_SHORT')
  })

  test('is held back for as long as the API requested, and a shorter wait requested later changes nothing', () => {
    const { brake } = openBrake()
    brake.applyReply(bought(1, refusal(429, 'SLOW_DOWN', '5')))
    brake.applyReply(bought(2, refusal(429, 'SLOW_DOWN', '1')))
    vi.advanceTimersByTime(4_900)
    expect(brake.heldBack(term)).toBe('STOPPED')
    vi.advanceTimersByTime(200)
    expect(brake.heldBack(term)).toBeNull()
  })

  test('is held back for a second if the API requested no specific wait', () => {
    const { brake } = openBrake()
    brake.applyReply(bought(1, refusal(429, 'SLOW_DOWN')))
    expect(brake.heldBack(term)).toBe('STOPPED')
    vi.advanceTimersByTime(1_100)
    expect(brake.heldBack(term)).toBeNull()
  })

  test('is held back from a refused key until the refusal is in the tables', () => {
    const { brake } = openBrake()
    const refused = bought(1, refusal(401, 'UNAUTHORIZED'))
    brake.applyReply(refused)
    expect(brake.heldBack(term)).toBe('STOPPED')
    brake.recorded(bought(2, answer()).verdict)
    expect(brake.heldBack(term)).toBe('STOPPED')
    brake.recorded(refused.verdict)
    expect(brake.heldBack(term)).toBeNull()
  })

  test('is held back once the worker is shutting down', () => {
    const { brake } = openBrake()
    brake.end()
    expect(brake.heldBack(term)).toBe('ENDING')
  })
})

describe('free lanes', () => {
  test('are all filled while the API answers', () => {
    const { brake } = openBrake()
    brake.applyReply(bought(1, answer()))
    expect(brake.allow(8)).toBe(8)
  })

  test('stay empty for two seconds if the API is unreachable, then one call tries it', () => {
    const { brake, outages, nudge } = openBrake()
    brake.applyReply(bought(1, unsent('ECONNREFUSED')))
    expect(outages.away('the API')).toBe(true)
    expect(brake.allow(8)).toBe(0)
    vi.advanceTimersByTime(2_100)
    expect(nudge).toHaveBeenCalledOnce()
    expect(brake.allow(8)).toBe(1)
    expect(brake.allow(0)).toBe(0)
    brake.applyReply(bought(2, answer()))
    expect(outages.away('the API')).toBe(false)
    expect(brake.allow(8)).toBe(8)
  })

  test('are filled although calls were held back here, which is no evidence about the API', () => {
    const { brake, outages } = openBrake()
    for (const code of ['LEASE_TOO_SHORT', 'STOPPED', 'ENDING']) {
      brake.applyReply(bought(1, unsent(code)))
    }
    expect(outages.away('the API')).toBe(false)
    expect(brake.allow(8)).toBe(8)
  })
})
