/** What keeps the rest of a run or night from being bought. */
export type Cut = 'budget' | 'list' | 'day' | 'month' | 'floor'

/** What a query of one class costs: lately on average, and at the dearest. */
export interface QueryPrice {
  readonly expected: number
  readonly worst: number
}

/** What a list, or the cadence of its schedule, says about when a query is asked again. */
export interface AskedAgain {
  readonly list: number
  readonly everyDays: number | null
  readonly maxAgeMs: number | null
  /** Day on which its cadence asks it next, and days from one asking to the next. */
  readonly dueOn: string | null
  readonly intervalDays: number | null
}

/** Queries of one class that some lists hold, as far as they were asked at the same time. */
export interface QueryGroup {
  readonly lists: readonly number[]
  readonly class: string
  readonly queries: number
  /** When the newest answer was received; null: never asked. */
  readonly answeredAt: number | null
  /** The day that it was bought for; only known where a list says something about that. */
  readonly answeredOn?: string | null
  /** Absent: no list says anything. */
  readonly wishes?: readonly AskedAgain[] | null
}

/** Work that is open now. */
export interface OpenWork {
  readonly run: number
  readonly list: string
  /** Month of its date, like 2026-11. */
  readonly month: string
  /** Credits that its budget leaves; null: no budget. */
  readonly left: number | null
  readonly classes: readonly { readonly class: string; readonly tasks: number }[]
}

/** A night that is to come. */
export interface ComingNight {
  readonly schedule: string
  readonly list: number
  readonly listName: string
  readonly at: number
  /** The date that it counts for. */
  readonly day: string
  /** True: queries rest as its cadence says. */
  readonly adaptive: boolean
  readonly budget: number | null
  /** An answer younger than this is reused. */
  readonly maxAgeMs: number
  /** True: what an older night left over is bought before it. */
  readonly keepsOld: boolean
}

/** What a list may use in a month. */
export interface ListAllowance {
  readonly list: string
  readonly month: string
  readonly budget: number
  readonly gone: number
}

/** Everything that a forecast is made from. */
export interface Prospect {
  readonly now: number
  readonly until: number
  /** What is left when calls on their way are paid; null: no balance was ever told. */
  readonly balance: number | null
  readonly floor: number
  readonly prices: ReadonlyMap<string, QueryPrice>
  readonly perMinute: number | null
  /** Most credits a day, and the day of an instant. */
  readonly dailyBudget: number | null
  readonly dayOf: (at: number) => string
  /** Credits used today already. */
  readonly spentToday: number
  /** Most credits a month, the month of an instant, and what was used of it. */
  readonly monthlyBudget: number | null
  readonly monthOf: (at: number) => string
  readonly spentThisMonth: number
  /** What lists may use in a month, and what is gone of that in the months that are known. */
  readonly lists: readonly ListAllowance[]
  readonly open: readonly OpenWork[]
  readonly groups: readonly QueryGroup[]
  readonly nights: readonly ComingNight[]
  /** Renewals of the plan, with the balance that they bring; null: not known yet. */
  readonly renewals: readonly { readonly at: number; readonly balance: number | null }[]
}

/** What one run or night will come to. */
export interface ForecastStep {
  readonly kind: 'run' | 'night' | 'renewal'
  /** Number of the run, or name of the schedule. */
  readonly name: string
  readonly list: string
  readonly at: number
  /** Queries to be bought, and those that rest or whose answers will be young enough. */
  readonly asked: number
  readonly fresh: number
  /** Of the asked, those that budget and floor let through. */
  readonly bought: number
  readonly credits: number
  /** Credits if every query costs the dearest. */
  readonly worst: number
  readonly after: number
  /** What keeps the rest from being bought. */
  readonly cut: Cut | null
  /** False where it would be cut if every query cost the dearest. */
  readonly sure: boolean
  /** When the floor will be met. */
  readonly floorAt: number | null
}
