import { Members } from './members.ts'
import type { ForecastStep, Prospect } from './prospect.ts'
import { Spending, type PriceKind, type Step } from './spending.ts'

/** Null while nobody knows the balance, or what one of the classes costs. */
export type Forecast =
  | { readonly kind: 'known'; readonly steps: readonly ForecastStep[] }
  | { readonly kind: 'unknown'; readonly missing: 'balance' | 'prices' }

/** Goes through what is open and what is to come in the order of time, and says what each will cost and where money ends. */
export function forecast(prospect: Prospect): Forecast {
  const { balance, prices, open, groups } = prospect
  if (balance === null) return { kind: 'unknown', missing: 'balance' }
  const classes = [
    ...open.flatMap((work) => work.classes.map((one) => one.class)),
    ...groups.map((group) => group.class),
  ]
  if (classes.some((name) => !prices.has(name))) return { kind: 'unknown', missing: 'prices' }
  const expected = walk(prospect, { balance, price: 'expected' })
  const worst = walk(prospect, { balance, price: 'worst' })
  const dear = new Map(worst.map((step) => [nameOf(step), step]))
  const steps = expected.map((step): ForecastStep => {
    const same = dear.get(nameOf(step))
    return {
      ...step,
      worst: same?.credits ?? step.credits,
      sure: step.cut === null && same?.cut === null,
    }
  })
  return { kind: 'known', steps }
}

function nameOf({ kind, name, at }: Step): string {
  return `${kind} ${name} ${at}`
}

function walk(
  prospect: Prospect,
  { balance, price }: { readonly balance: number; readonly price: PriceKind },
): readonly Step[] {
  const spending = new Spending(prospect, { balance, price })
  const known = new Members(prospect.groups)
  for (const work of prospect.open) spending.buyOpen(work)
  const events = [
    ...prospect.renewals.map((renewal) => ({ kind: 'renewal' as const, ...renewal })),
    ...prospect.nights.map((night) => ({ kind: 'night' as const, ...night })),
  ].toSorted((a, b) => a.at - b.at)
  for (const event of events) {
    if (event.kind === 'night') spending.buyNight(event, known)
    else if (event.balance === null) break
    else spending.renew(event.at, event.balance)
  }
  return spending.steps
}
