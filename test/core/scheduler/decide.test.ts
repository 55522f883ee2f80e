import { describe, expect, test } from 'vitest'
import { type Busy, decide, type Facts, graceMs } from '../../../src/core/scheduler/decide.ts'
import { scheduleOf } from './world.ts'

const due = new Date('2026-10-03T02:00:00Z')

function factsOf(changes: Partial<Facts> = {}): Facts {
  return {
    now: new Date(due.getTime() + 20_000),
    known: new Date('2026-10-02T12:00:00Z'),
    decided: new Set(),
    waiting: [],
    busy: null,
    ...changes,
  }
}

const busy: Busy = {
  run: 7,
  date: '2026-10-02',
  schedule: 'nightly',
  starved: false,
  tasks: 100,
  open: 60,
}

describe('a due time', () => {
  test('runs on time within the grace period, and late after it', () => {
    const late = new Date(due.getTime() + graceMs + 1)
    expect(decide(scheduleOf(), factsOf())).toMatchObject({ kind: 'run', outcome: 'ran' })
    expect(decide(scheduleOf(), factsOf({ now: late }))).toMatchObject({ outcome: 'late' })
  })

  test('that another scheduler has decided is left alone', () => {
    const step = decide(scheduleOf(), factsOf({ decided: new Set([due.getTime()]) }))
    expect(step).toEqual({ kind: 'rest', known: factsOf().now })
  })

  test('is not due a millisecond earlier', () => {
    const step = decide(scheduleOf(), factsOf({ now: new Date(due.getTime() - 1) }))
    expect(step.kind).toBe('rest')
  })

  test('behind a manual run without credits follows the overlap rule, and never ends that run', () => {
    const hand = { ...busy, schedule: null, starved: true }
    expect(decide(scheduleOf(), factsOf({ busy: hand }))).toMatchObject({ outcome: 'skipped' })
    expect(decide(scheduleOf({ overlap: 'queue' }), factsOf({ busy: hand })).kind).toBe('wait')
  })

  test('behind a night of another schedule without credits never ends that night', () => {
    const other = { ...busy, schedule: 'other', starved: true }
    expect(decide(scheduleOf(), factsOf({ busy: other }))).toMatchObject({ outcome: 'skipped' })
  })

  test('behind a night without credits waits for it if all count, whatever the overlap rule', () => {
    const starved = { ...busy, starved: true }
    expect(decide(scheduleOf({ missed: 'all' }), factsOf({ busy: starved })).kind).toBe('wait')
    expect(decide(scheduleOf({ missed: 'latest' }), factsOf({ busy: starved })).kind).toBe('close')
  })

  test('reports the progress of the run that blocks it', () => {
    expect(decide(scheduleOf(), factsOf({ busy }))).toMatchObject({
      note: 'run 7 of 2026-10-02 was still in progress, with 40 of 100 tasks done',
    })
  })
})

describe('years without a scheduler', () => {
  test('are decided in batches, and the newest time is the one that counts', () => {
    const schedule = scheduleOf({ pattern: '0 * * * *' })
    const decided = new Set<number>()
    let known = new Date('2025-01-01T00:30:00Z')
    const now = new Date('2026-01-01T00:30:00Z')
    let missed = 0
    let step = decide(schedule, factsOf({ known, now, decided }))
    for (; step.kind === 'record'; step = decide(schedule, factsOf({ known, now, decided }))) {
      expect(step.nights.length).toBeLessThanOrEqual(7 * 24)
      missed += step.nights.length
      known = step.known
    }
    expect(step).toMatchObject({ kind: 'run', outcome: 'late' })
    known = step.known
    expect(known).toEqual(new Date('2026-01-01T00:00:00Z'))
    expect(missed).toBe(365 * 24 - 1)
  })
})

describe('a postponed night', () => {
  const first = { at: new Date('2026-10-01T02:00:00Z'), date: '2026-10-01' }
  const second = { at: new Date('2026-10-02T02:00:00Z'), date: '2026-10-02' }
  const known = factsOf().now

  test('is replaced by a newer one, unless all count', () => {
    const facts = factsOf({ known, waiting: [first, second], busy })
    expect(decide(scheduleOf({ overlap: 'queue' }), facts)).toMatchObject({
      kind: 'record',
      nights: [first],
      outcome: 'skipped',
    })
    expect(decide(scheduleOf({ missed: 'all' }), facts).kind).toBe('rest')
  })

  test('runs when the list is free, the oldest first', () => {
    const facts = factsOf({ known, waiting: [first, second] })
    expect(decide(scheduleOf({ missed: 'all' }), facts)).toMatchObject({
      kind: 'run',
      night: first,
      outcome: 'late',
    })
  })
})
