import type { Variant } from '../../store/analysis/ranks.ts'

/** A name for each query by its id: its text, and what tells it from others of the same text. */
export function nameVariants(variants: readonly Variant[]): ReadonlyMap<string, string> {
  const byText = new Map<string, Variant[]>()
  for (const variant of variants) {
    const same = byText.get(variant.q)
    if (same === undefined) byText.set(variant.q, [variant])
    else same.push(variant)
  }
  return new Map(
    [...byText.values()].flatMap((same) =>
      same.map((variant) => [variant.queryId, nameOf(variant, same)] as const),
    ),
  )
}

const words: readonly ((variant: Variant) => string | null)[] = [
  ({ device }) => device,
  ({ location }) => location,
  ({ hl }) => (hl === null ? null : `language ${hl}`),
  ({ gl }) => (gl === null ? null : `country ${gl}`),
  ({ num }) => `${num} results`,
]

/** What all have in common tells nobody anything. */
function nameOf(variant: Variant, same: readonly Variant[]): string {
  const told = words
    .filter((word) => new Set(same.map(word)).size > 1)
    .map((word) => word(variant))
    .filter((word) => word !== null)
  return told.length === 0 ? variant.q : `${variant.q} (${told.join(', ')})`
}
