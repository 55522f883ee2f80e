import { describe, expect, test } from 'vitest'
import { dueTasks, mostUrgent } from '../../../src/core/worker/dispatch.ts'
import { requestOf } from '../../../src/pipeline.ts'
import { task } from './pieces.ts'

describe('the tasks of a slice', () => {
  const row = {
    query_id: 'id',
    q: 'red shoes',
    location: null,
    hl: 'de',
    gl: null,
    num: 20,
    device: 'mobile',
  } as const

  test('that may be bought now are taken, those that wait are left', () => {
    const tasks = [
      { ...row, id: 1, wait_ms: 0, deaths: 0, refused: true },
      { ...row, id: 2, wait_ms: 1, deaths: 0, refused: false },
    ]
    const due = dueTasks({ priority: 3, tasks }, 9)
    expect(due).toMatchObject([
      { id: 1, run: 9, priority: 3, queryId: 'id', suspect: false, refused: true },
    ])
    expect(due[0]?.query).toEqual({
      q: 'red shoes',
      location: null,
      hl: 'de',
      gl: null,
      num: 20,
      device: 'mobile',
    })
  })

  test('are suspect one death before they are given up', () => {
    const tasks = [0, 1, 2].map((deaths) => ({
      ...row,
      id: deaths,
      wait_ms: 0,
      deaths,
      refused: false,
    }))
    expect(dueTasks({ priority: 3, tasks }, 9).map(({ suspect }) => suspect)).toEqual([
      false,
      false,
      true,
    ])
  })
})

describe('the next tasks to reserve', () => {
  const ids = (tasks: readonly { id: number }[]) => tasks.map(({ id }) => id)

  test('are the most urgent, the oldest of them first, and as many as there are lanes', () => {
    const pending = [task(4), task(3), task(2, { priority: 9 }), task(5, { priority: 1 })]
    expect(ids(mostUrgent(pending, { count: 3, flying: 0 }))).toEqual([5, 3, 4])
  })

  test('exclude those that looked like a refused key while another task is available', () => {
    const pending = [task(1, { refused: true, priority: 1 }), task(2, { priority: 9 }), task(3)]
    expect(ids(mostUrgent(pending, { count: 5, flying: 0 }))).toEqual([3, 2, 1])
  })

  test('exclude suspects while another task is available', () => {
    const pending = [task(1, { suspect: true }), task(2)]
    expect(ids(mostUrgent(pending, { count: 5, flying: 0 }))).toEqual([2])
  })

  test('are one suspect if nothing else is available or in flight', () => {
    const pending = [task(1, { suspect: true }), task(2, { suspect: true })]
    expect(ids(mostUrgent(pending, { count: 5, flying: 1 }))).toEqual([])
    expect(ids(mostUrgent(pending, { count: 5, flying: 0 }))).toEqual([1])
  })
})

test('a reservation is requested with the number, the price class and the priority of a task', () => {
  expect(requestOf(task(7, { priority: 2 }))).toEqual({ task: 7, class: '10/-', priority: 2 })
})
