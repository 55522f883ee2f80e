import type { ComingNight, ForecastStep, OpenWork, Prospect } from './prospect.ts'
import { Allowances, tightest, type Drawer } from './allowances.ts'
import type { Members, Portion } from './members.ts'

/** A step at one kind of price. */
export type Step = Omit<ForecastStep, 'worst' | 'sure'>

/** At which prices a walk reckons. */
export type PriceKind = 'expected' | 'worst'

/** What is left over of a run or night when money ends, in the order in which it will be bought. */
interface Leftover {
  readonly step: Step
  readonly list: number | null
  readonly budget: number | null
  readonly portions: readonly Portion[]
  readonly month: string
  /** The day or month whose budget is used up; null: it waits for credit. */
  readonly waits: string | null
}

/** The balance as it will go. */
export class Spending {
  readonly steps: Step[] = []
  readonly #prospect: Prospect
  readonly #price: PriceKind
  readonly #allowances: Allowances
  #balance: number
  #left: Leftover[] = []

  constructor(
    prospect: Prospect,
    { balance, price }: { readonly balance: number; readonly price: PriceKind },
  ) {
    this.#prospect = prospect
    this.#price = price
    this.#balance = balance
    this.#allowances = new Allowances(prospect)
  }

  buyOpen({ run, list, month, left, classes }: OpenWork): void {
    const portions = classes.map(({ class: name, tasks }) => ({ class: name, queries: tasks }))
    const about = {
      kind: 'run' as const,
      name: String(run),
      list,
      at: this.#prospect.now,
      fresh: 0,
    }
    this.#buy(about, { list: null, month, budget: left, portions })
  }

  buyNight(night: ComingNight, known: Members): void {
    // A night takes the place of an older one of its list, unless each is wanted.
    if (!night.keepsOld) this.#left = this.#left.filter(({ list }) => list !== night.list)
    const { dayOf, monthOf } = this.#prospect
    const now = [dayOf(night.at), monthOf(night.at)]
    if (this.#left.some(({ waits }) => waits !== null && !now.includes(waits))) {
      this.#buyLeft(night.at)
    }
    const { fresh, portions } = known.ask(night, this.#balance > this.#prospect.floor)
    const { schedule: name, listName: list, at } = night
    const about = { kind: 'night' as const, name, list, at, fresh }
    this.#buy(about, {
      list: night.list,
      month: dayOf(at).slice(0, 7),
      budget: night.budget,
      portions,
    })
  }

  /** The balance is what the plan gives; what was left over is bought first. */
  renew(at: number, balance: number): void {
    this.#balance = balance
    const none = { asked: 0, fresh: 0, bought: 0, credits: 0, cut: null, floorAt: null }
    this.steps.push({ kind: 'renewal', name: '', list: '', at, ...none, after: balance })
    this.#buyLeft(at)
  }

  #buyLeft(at: number): void {
    const waiting = this.#left
    this.#left = []
    for (const { step, ...rest } of waiting) this.#buy({ ...step, at, fresh: 0 }, rest)
  }

  #buy(
    about: Pick<Step, 'kind' | 'name' | 'list' | 'at' | 'fresh'>,
    { list, month, budget, portions }: Omit<Leftover, 'step' | 'waits'>,
  ): void {
    const drawer: Drawer = { at: about.at, list: about.list, month }
    const limits = {
      ...this.#allowances.left(drawer),
      budget: budget ?? Infinity,
      floor: Math.max(0, this.#balance - this.#prospect.floor),
    }
    const limit = Math.min(...Object.values(limits))
    const { bought, credits, rest } = this.#spend(portions, limit)
    this.#balance -= credits
    this.#allowances.take(drawer, credits)
    const asked = portions.reduce((sum, { queries }) => sum + queries, 0)
    const cut = rest.length === 0 ? null : tightest(limits)
    const { perMinute } = this.#prospect
    const minutes = perMinute === null ? 0 : bought / perMinute
    const step: Step = {
      ...about,
      ...{ asked, bought, cut },
      credits: Math.round(credits),
      after: Math.round(this.#balance),
      floorAt: cut === 'floor' ? about.at + minutes * 60_000 : null,
    }
    this.steps.push(step)
    // What a budget of a run or list does not cover ends as unaffordable; what anything else keeps back waits.
    if (cut === null || cut === 'budget' || cut === 'list') return
    const left = budget === null ? null : budget - credits
    const waits = this.#allowances.waitsFor(cut, about.at)
    this.#left.push({ step, list, month, budget: left, portions: rest, waits })
  }

  #spend(portions: readonly Portion[], limit: number) {
    let bought = 0
    let credits = 0
    const rest: Portion[] = []
    for (const { class: name, queries } of portions) {
      const each = this.#prospect.prices.get(name)?.[this.#price] ?? 0
      // A little less than nothing is left when sums of fractions are compared.
      const many = each === 0 ? queries : Math.floor((limit - credits) / each + 1e-9)
      const some = Math.max(0, Math.min(queries, many))
      bought += some
      credits += some * each
      if (some < queries) rest.push({ class: name, queries: queries - some })
    }
    return { bought, credits, rest }
  }
}
