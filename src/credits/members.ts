import type { ComingNight, QueryGroup } from './prospect.ts'

/** Queries of one class that are bought together. */
export interface Portion {
  readonly class: string
  readonly queries: number
}

/** When the queries of the lists will have been asked last. */
export class Members {
  readonly #groups: { readonly group: QueryGroup; answeredAt: number | null }[]

  constructor(groups: readonly QueryGroup[]) {
    this.#groups = groups.map((group) => ({ group, answeredAt: group.answeredAt }))
  }

  /** The queries of a night's list that have to be bought; with money there, they have their answer then. */
  ask({ list, at, maxAgeMs }: ComingNight, bought: boolean) {
    const portions = new Map<string, number>()
    let fresh = 0
    for (const known of this.#groups) {
      const { group } = known
      if (!group.lists.includes(list)) continue
      if (known.answeredAt !== null && known.answeredAt > at - maxAgeMs) fresh += group.queries
      else {
        portions.set(group.class, (portions.get(group.class) ?? 0) + group.queries)
        if (bought) known.answeredAt = at
      }
    }
    return {
      fresh,
      portions: [...portions].map(([name, queries]) => ({ class: name, queries })),
    }
  }
}
