import type { Sums, TaskWitness } from '../../store/operator/witness.ts'
import type { FrontBooks } from './front.ts'

/** What was done to the mill. */
export interface Strikes {
  kills: number
  freezes: number
  farewells: number
  databaseRestarts: number
  redisRestarts: number
  flushes: number
}

/** What the faults led to, in figures. */
export interface Judgement {
  readonly tasks: number
  readonly states: Readonly<Record<string, number>>
  readonly calls: number
  readonly unsent: number
  readonly charges: number
  readonly creditsCharged: number
  readonly creditsUsed: number
  readonly creditsHeld: number
  readonly ambiguous: number
  readonly least: number
  readonly floor: number
  readonly lost: number
  readonly boughtTwice: number
  /** Sentences on what must not be; empty when all is well. */
  readonly violations: readonly string[]
}

export interface Evidence {
  readonly books: FrontBooks
  readonly tasks: readonly TaskWitness[]
  readonly sums: Sums
  readonly floor: number
  readonly accidents: readonly string[]
  /** Files that hold the key. */
  readonly leaks: readonly string[]
}

/** Holds the tables against the books of the API: the mill's own word counts for nothing here. */
export function judgeChaos({ books, tasks, sums, floor, accidents, leaks }: Evidence): Judgement {
  const paid = countCharges(books)
  const states: Record<string, number> = {}
  let ambiguous = 0
  let boughtTwice = 0
  for (const task of tasks) {
    states[task.state] = (states[task.state] ?? 0) + 1
    ambiguous += task.ambiguous
    boughtTwice += Math.max(0, (paid.get(task.q) ?? 0) - 1 - task.ambiguous)
    paid.delete(task.q)
  }
  const lost = states['open'] ?? 0
  const violations = [
    ...problem(boughtTwice, 'charges beyond the first and those nobody could read'),
    ...problem(paid.size, 'queries were charged that no task asks'),
    ...problem(lost, 'tasks came to no end'),
    ...problem(sums.in_flight, 'calls stayed in flight'),
    ...problem(sums.without_body, 'answers have no body'),
    ...problem(sums.miscounted, 'answers have other rows than their body'),
    ...problem(leaks.length, `places hold the key: ${leaks.slice(0, 3).join(', ')}`),
    ...accidents.map((words) => `a worker ended badly: ${words}`),
  ]
  if (books.least < floor) violations.push(`the balance fell to ${books.least}, below ${floor}`)
  if (sums.used + sums.held < books.charged) {
    violations.push(
      `${books.charged} credits were charged, the ledger knows of ${sums.used} and holds ${sums.held}`,
    )
  }
  return {
    tasks: tasks.length,
    states,
    calls: sums.calls,
    unsent: sums.unsent,
    charges: books.charges.filter(({ charged }) => charged > 0).length,
    creditsCharged: books.charged,
    creditsUsed: sums.used,
    creditsHeld: sums.held,
    ambiguous,
    least: books.least,
    floor,
    lost,
    boughtTwice,
    violations,
  }
}

function countCharges({ charges }: FrontBooks): Map<string, number> {
  const paid = new Map<string, number>()
  for (const { q, charged } of charges) {
    if (q !== null && charged > 0) paid.set(q, (paid.get(q) ?? 0) + 1)
  }
  return paid
}

function problem(count: number, words: string): string[] {
  return count === 0 ? [] : [`${count} ${words}`]
}

/** The figures as lines, those that matter most last. */
export function tellJudgement(judgement: Judgement, strikes: Strikes): string[] {
  const { states, charges, creditsCharged, creditsUsed, creditsHeld } = judgement
  const words = Object.entries(states).map(([state, count]) => `${count} ${state}`)
  return [
    `strikes          ${strikes.kills} kills, ${strikes.freezes} freezes, ${strikes.farewells} farewells, ${strikes.databaseRestarts} database restarts, ${strikes.redisRestarts} redis restarts, ${strikes.flushes} flushes`,
    `tasks            ${judgement.tasks}: ${words.join(', ')}`,
    `calls            ${judgement.calls}, ${judgement.unsent} of them released unsent`,
    `ledger           ${creditsUsed} credits used, ${creditsHeld} held for calls nobody could read`,
    `tasks answered   ${states['answered'] ?? 0}`,
    `charges          ${charges}, ${creditsCharged} credits, by the books of the API`,
    `ambiguous        ${judgement.ambiguous}`,
    `minimum balance  ${judgement.least}, floor ${judgement.floor}`,
    `lost             ${judgement.lost}`,
    `bought twice beyond ambiguous  ${judgement.boughtTwice}`,
  ]
}
