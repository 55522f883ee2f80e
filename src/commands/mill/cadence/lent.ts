import { clustered, type Bounds } from './bounds.ts'
import type { LentAnswer } from './replay.ts'

/** What lending came to, or would have come to. */
export interface LentReceipt {
  /** Queries that were lent an answer, and how many they were lent. */
  readonly queries: number
  readonly answers: number
  /** Of these, those that could be held against what daily asking was answered, and those that differed from it. */
  readonly compared: number
  readonly differed: number
  /** Pages of the first ten that these had more or less. */
  readonly pages: number
  readonly wrong: Bounds
  /** Most nights since the lender was asked; null: nothing was lent. */
  readonly oldest: number | null
}

/** Adds up what was lent; all that was lent to one query counts as one cluster, since it is wrong for nights on end. */
export function sumUpLent(answers: readonly LentAnswer[]): LentReceipt {
  const lent = answers.filter(({ drawn }) => !drawn)
  const clusters = new Map<string, { some: number; many: number }>()
  let pages = 0
  for (const { id, differences } of lent) {
    const cluster = clusters.get(id) ?? { some: 0, many: 0 }
    clusters.set(id, cluster)
    if (differences === null) continue
    cluster.many += 1
    pages += differences
    if (differences > 0) cluster.some += 1
  }
  const all = [...clusters.values()]
  return {
    queries: clusters.size,
    answers: lent.length,
    compared: all.reduce((sum, { many }) => sum + many, 0),
    differed: all.reduce((sum, { some }) => sum + some, 0),
    pages,
    wrong: clustered(all),
    oldest: lent.length === 0 ? null : lent.reduce((most, { age }) => Math.max(most, age), 0),
  }
}
