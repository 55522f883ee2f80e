import { describe, expect, test } from 'vitest'
import { findOverdue } from '../../../src/core/nights/nights.ts'
import { cronOf } from '../scheduler/world.ts'

const due = new Date('2026-10-03T02:00:00Z')

describe('an overdue night', () => {
  const watch = {
    name: 'nightly',
    cron: cronOf('0 2 * * *'),
    zone: 'UTC',
    known: new Date('2026-10-02T12:00:00Z'),
    waiting: null,
  }

  test('has been undecided for ten minutes', () => {
    expect(findOverdue([watch], new Date('2026-10-03T02:09:00Z'))).toEqual([])
    expect(findOverdue([watch], new Date('2026-10-03T02:11:00Z'))).toMatchObject([
      { schedule: 'nightly', dueAt: due },
    ])
  })

  test('still waits when the next one is due', () => {
    const waits = { ...watch, known: new Date('2026-10-04T02:00:00Z'), waiting: due }
    expect(findOverdue([waits], new Date('2026-10-04T01:00:00Z'))).toEqual([])
    expect(findOverdue([waits], new Date('2026-10-04T02:11:00Z'))).toMatchObject([{ dueAt: due }])
  })

  test('does not exist while a scheduler is running', () => {
    const looked = { ...watch, known: new Date('2026-10-03T12:00:00Z') }
    expect(findOverdue([looked], new Date('2026-10-03T12:01:00Z'))).toEqual([])
  })
})
