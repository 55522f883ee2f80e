import type { Cut, Prospect } from './prospect.ts'

/** A run or night, as far as it decides which budgets it draws on. */
export interface Drawer {
  readonly at: number
  readonly list: string
  /** Month of the date of its run, like 2026-11: what its list may use then. */
  readonly month: string
}

/** What the budgets of days, months and lists still allow while time goes on. */
export class Allowances {
  readonly #prospect: Prospect
  readonly #spent = new Map<string, number>()

  constructor(prospect: Prospect) {
    this.#prospect = prospect
    const { now, dayOf, monthOf } = prospect
    this.#spent.set(`day ${dayOf(now)}`, prospect.spentToday)
    this.#spent.set(`month ${monthOf(now)}`, prospect.spentThisMonth)
    for (const { list, month, gone } of prospect.lists) {
      if (gone > 0) this.#spent.set(`list ${list} ${month}`, gone)
    }
  }

  /** Credits that each of them leaves. */
  left(drawer: Drawer): Readonly<Record<'list' | 'day' | 'month', number>> {
    const { dailyBudget, monthlyBudget, lists } = this.#prospect
    const [day, month, list] = this.#namesOf(drawer)
    const most = lists.find((one) => one.list === drawer.list)?.budget ?? Infinity
    return {
      day: Math.max(0, (dailyBudget ?? Infinity) - this.#gone(day)),
      month: Math.max(0, (monthlyBudget ?? Infinity) - this.#gone(month)),
      list: Math.max(0, most - this.#gone(list)),
    }
  }

  take(drawer: Drawer, credits: number): void {
    for (const name of this.#namesOf(drawer)) this.#spent.set(name, this.#gone(name) + credits)
  }

  /** When what is kept back by this may be bought: the name of the span that has to be over; null: not by time. */
  waitsFor(cut: Cut, at: number): string | null {
    const { dayOf, monthOf } = this.#prospect
    if (cut === 'day') return dayOf(at)
    return cut === 'month' ? monthOf(at) : null
  }

  #namesOf({ at, list, month }: Drawer): [string, string, string] {
    const { dayOf, monthOf } = this.#prospect
    return [`day ${dayOf(at)}`, `month ${monthOf(at)}`, `list ${list} ${month}`]
  }

  #gone(name: string): number {
    return this.#spent.get(name) ?? 0
  }
}

/** Which of these ends first. */
export function tightest(limits: Readonly<Record<Cut, number>>): Cut {
  const order = ['budget', 'list', 'month', 'day', 'floor'] as const
  const least = Math.min(...order.map((name) => limits[name]))
  return order.find((name) => limits[name] === least) ?? 'floor'
}
