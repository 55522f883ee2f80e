import { describe, expect, test } from 'vitest'
import { scarcePriorities, sortTasks } from '../../../src/core/ledger/admission.ts'
import { decideAdmission, prepareAdmission } from '../../../src/core/ledger/reserve.ts'
import type { WaitingTask } from '../../../src/core/ledger/waiting.ts'
import { booksOf, known, rich, spender, waiting } from './books.ts'

const want = (task: number, priority = 5) => ({ task, class: '10/-', priority })

function sorted(...found: readonly WaitingTask[]) {
  const wanted = found.map(({ id }) => want(id))
  return sortTasks(wanted, new Map(found.map((task) => [task.id, task])))
}

describe('a task that is checked before its purchase', () => {
  test('is ready unless something prevents it, the most urgent first', () => {
    const tasks = new Map([1, 2].map((id) => [id, waiting(id)]))
    const { ready } = sortTasks([want(1, 7), want(2, 3)], tasks)
    expect(ready.map(({ task, run }) => [task, run])).toEqual([
      [2, 1],
      [1, 1],
    ])
  })

  test('is dropped if it ended, if its run ended, and if it is unknown', () => {
    const { ready, gone } = sorted(
      waiting(1, { state: 'answered' }),
      waiting(2, { run_open: false }),
    )
    expect([ready, gone]).toEqual([[], [1, 2]])
    expect(sortTasks([want(3)], new Map()).gone).toEqual([3])
  })

  test('is delayed while its query is in flight, and before its time', () => {
    const { ready, later } = sorted(waiting(1, { busy: true }), waiting(2, { due: false }))
    expect([ready, later]).toEqual([[], [1, 2]])
  })

  test('is delayed if another task of the group has the same query', () => {
    const { ready, later } = sorted(waiting(1), waiting(2, { query_id: 'query 1' }))
    expect(ready.map(({ task }) => task)).toEqual([1])
    expect(later).toEqual([2])
  })

  test('uses an existing answer, and is not bought', () => {
    const { ready, gone, reused } = sorted(waiting(1, { fresh: 17 }))
    expect([ready, gone, reused]).toEqual([[], [1], [{ task: 1, search: 17 }]])
  })
})

describe('urgent tasks elsewhere', () => {
  const priorities = (floor: number) => {
    const books = booksOf(
      { ...rich, seen: { seq: 40, at: 900, remaining: 10_000 } },
      { costs: new Map([['10/-', known]]) },
    )
    const look = prepareAdmission(spender({ floor }), { requested: [], books, tasks: [] })
    const ready = [1, 5, 5, 9].map((priority, task) => ({ ...want(task, priority), run: 1 }))
    return scarcePriorities(ready, look)
  }

  test('are counted for each priority below the first while credits are scarce, and never otherwise', () => {
    expect(priorities(9_990)).toEqual([5, 9])
    expect(priorities(100)).toEqual([])
  })

  test('delay only the tasks of their priority', () => {
    const books = booksOf(rich, { costs: new Map([['10/-', known]]) })
    const inputs = prepareAdmission(spender({ floor: 980 }), {
      requested: [want(1, 5), want(2, 9)],
      books,
      tasks: [waiting(1), waiting(2)],
    })
    const granted = (urgent: ReadonlyMap<number, number>) =>
      decideAdmission(inputs, urgent).admission.grants.map(({ task }) => task)
    expect(granted(new Map())).toEqual([1, 2])
    expect(granted(new Map([[9, 3]]))).toEqual([1])
  })
})
