import { constants, costClass } from '../../credits/account.ts'
import type { Wanted } from '../../credits/triage.ts'
import type { Task } from '../../pipeline.ts'
import type { OpenTask } from '../../store/slices.ts'

/** The tasks of a slice that may be asked now, made ready for the gate. */
export function dueTasks({ tasks, priority }: OpenSliceTasks, run: number): Task[] {
  return tasks.filter(({ wait_ms }) => wait_ms <= 0).map((task) => taskOf(task, run, priority))
}

interface OpenSliceTasks {
  readonly priority: number
  readonly tasks: readonly OpenTask[]
}

function taskOf(task: OpenTask, run: number, priority: number): Task {
  const { id, query_id: queryId, q, location, hl, gl, num, device, deaths, refused } = task
  const query = { q, location, hl, gl, num, device }
  const suspect = deaths >= constants.deaths - 1
  return { id, run, priority, class: costClass(query), query, queryId, suspect, refused }
}

/**
 * What goes to the gate next; a suspect goes alone, when nothing else is in flight. One that was answered with a refused
 * key goes after the others: if they are answered with the same key, it is known that its query was meant.
 */
export function mostUrgent(
  pending: readonly Task[],
  { count, flying }: { count: number; flying: number },
): readonly Task[] {
  const tasks = pending.toSorted(
    (a, b) => Number(a.refused) - Number(b.refused) || a.priority - b.priority || a.id - b.id,
  )
  const plain = tasks.filter(({ suspect }) => !suspect)
  if (plain.length > 0) return plain.slice(0, count)
  return flying === 0 ? tasks.slice(0, 1) : []
}

/** What a task asks of the gate. */
export function askOf({ id, class: kind, priority }: Task): Wanted {
  return { task: id, class: kind, priority }
}
