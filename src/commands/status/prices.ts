import { boundOf, type Costs } from '../../credits/prices.ts'
import { count } from '../../shared/terminal/wording.ts'

/** What calls of one kind are believed to cost, and what that rests on. */
export interface BelievedPrice {
  readonly class: string
  /** Credits set aside for a call among others. */
  readonly expected: number
  /** Credits set aside for a call that goes out alone. */
  readonly alone: number
  /** Prices that were seen. */
  readonly seen: number
  readonly cheapest: number
  readonly dearest: number
}

/** The prices that the ledger reckons with, for kinds of calls of which one was seen. */
export function believedPrices(costs: Costs): readonly BelievedPrice[] {
  return [...costs]
    .filter(([, { seen }]) => seen > 0)
    .map(([name, { seen, cheapest, dearest }]) => {
      const { among, alone } = boundOf(costs, name)
      return { class: name, expected: among, alone, seen, cheapest, dearest }
    })
}

/** One line for each of them; a price that is expected although it came once says how to forget it. */
export function priceLines(prices: readonly BelievedPrice[]): string[] {
  return prices.map(({ class: name, expected, alone, seen, cheapest, dearest }) => {
    const range =
      cheapest === dearest ? count(dearest, 'credit') : `${cheapest} to ${dearest} credits`
    const aside = alone === expected ? `${expected}` : `${expected} together, ${alone} alone`
    const told = `price of ${name}: ${range} in ${count(seen, 'answer')}, set aside for a call: ${aside}`
    return alone < expected && seen > 30
      ? `${told}; ${expected} came once: npm run resume -- --forget-prices forgets it`
      : told
  })
}
