// makeTwins(histories, { seed }) → for each second history a twin beside it: the same answers, for ever or until a night
// from which on it lives by itself for a while.
import { seeded } from '../../src/service/random.ts'
import type { QueryHistory } from '../../src/features/cadence/replay.ts'

export function makeTwins(
  histories: readonly QueryHistory[],
  { seed }: { readonly seed: string },
): readonly QueryHistory[] {
  return histories.flatMap((history, index) => {
    if (index % 2 === 1) return [history]
    const random = seeded(`${seed} twin ${index}`)
    const nights = history.sights.length
    // A third of the twins parts for some nights.
    const from = random() < 1 / 3 ? Math.floor(nights * (0.3 + 0.6 * random())) : nights
    const until = from + 3 + Math.floor(20 * random())
    const sights = history.sights.map((sight, night) => {
      if (night < from || night >= until) return sight
      return { ...sight, pages: [...sight.pages.slice(0, 9), 9_000_000 + index] }
    })
    return [history, { id: `${history.id} twin`, sights }]
  })
}
