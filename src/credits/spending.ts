import type { ComingNight, ForecastStep, OpenWork, Prospect } from './prospect.ts'
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
  /** The day whose budget is used up; null: it waits for credit. */
  readonly day: string | null
}

/** The balance as it will go. */
export class Spending {
  readonly steps: Step[] = []
  readonly #prospect: Prospect
  readonly #price: PriceKind
  readonly #spentOn = new Map<string, number>()
  #balance: number
  #left: Leftover[] = []

  constructor(
    prospect: Prospect,
    { balance, price }: { readonly balance: number; readonly price: PriceKind },
  ) {
    this.#prospect = prospect
    this.#price = price
    this.#balance = balance
    this.#spentOn.set(prospect.dayOf(prospect.now), prospect.spentToday)
  }

  buyOpen({ run, list, left, classes }: OpenWork): void {
    const portions = classes.map(({ class: name, tasks }) => ({ class: name, queries: tasks }))
    const about = {
      kind: 'run' as const,
      name: String(run),
      list,
      at: this.#prospect.now,
      fresh: 0,
    }
    this.#buy(about, { list: null, budget: left, portions })
  }

  buyNight(night: ComingNight, known: Members): void {
    // A night takes the place of an older one of its list, unless each is wanted.
    if (!night.keepsOld) this.#left = this.#left.filter(({ list }) => list !== night.list)
    if (this.#left.some(({ day }) => day !== null && day !== this.#prospect.dayOf(night.at))) {
      this.#buyLeft(night.at)
    }
    const { fresh, portions } = known.ask(night, this.#balance > this.#prospect.floor)
    const { schedule: name, listName: list, at } = night
    const about = { kind: 'night' as const, name, list, at, fresh }
    this.#buy(about, { list: night.list, budget: night.budget, portions })
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
    { list, budget, portions }: Omit<Leftover, 'step' | 'day'>,
  ): void {
    const day = this.#prospect.dayOf(about.at)
    const spent = this.#spentOn.get(day) ?? 0
    const limits = {
      budget: budget ?? Infinity,
      day: Math.max(0, (this.#prospect.dailyBudget ?? Infinity) - spent),
      floor: Math.max(0, this.#balance - this.#prospect.floor),
    }
    const limit = Math.min(limits.budget, limits.day, limits.floor)
    const { bought, credits, rest } = this.#spend(portions, limit)
    this.#balance -= credits
    this.#spentOn.set(day, spent + credits)
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
    // What a budget does not cover ends as unaffordable; what the floor or the day keeps back waits.
    if (cut === null || cut === 'budget') return
    const left = budget === null ? null : budget - credits
    this.#left.push({ step, list, budget: left, portions: rest, day: cut === 'day' ? day : null })
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

function tightest(limits: Readonly<Record<'budget' | 'day' | 'floor', number>>) {
  if (limits.budget <= Math.min(limits.day, limits.floor)) return 'budget'
  return limits.day < limits.floor ? 'day' : 'floor'
}
