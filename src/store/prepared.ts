import type { ClientBase } from 'pg'

/** A connection keeps the plans of so many statements; what comes beyond them is planned each time. */
const mostPlans = 50
/** A plan is made anew after so many uses, then after eight times as many, and so on. */
const firstUses = 64
const moreUses = 8

// The plan of a statement by key is the same for a small table and a large one, if nothing else is allowed.
const byKeyOnly = 'set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off'

/** A plan that a connection keeps. */
class Plan {
  readonly #number: number
  #uses = 0
  #last = firstUses

  constructor(number: number) {
    this.#number = number
  }

  get name(): string {
    return `plan_${this.#number}_${this.#last}`
  }

  /** Counts a use; gives back the name of the plan that is old now. A table may have grown since it was made. */
  use(): string | null {
    this.#uses += 1
    if (this.#uses <= this.#last) return null
    const old = this.name
    this.#last *= moreUses
    return old
  }
}

/**
 * Makes a connection keep the plan of a statement that comes again: for a short one planning costs as much as running
 * does. For connections whose statements all go by key.
 */
export function keepPlans(client: ClientBase): void {
  const query: unknown = Reflect.get(client, 'query')
  if (typeof query !== 'function') throw new TypeError('expected a method query of the driver')
  const passed = new Set<string>()
  const plans = new Map<string, Plan>()
  const planOf = (text: string): Plan | undefined => {
    if (plans.size < mostPlans && passed.delete(text)) plans.set(text, new Plan(plans.size))
    else if (plans.size < mostPlans && !plans.has(text)) passed.add(text)
    return plans.get(text)
  }
  const planned = (text: unknown, values: unknown, ...others: unknown[]): unknown => {
    const plan = typeof text === 'string' && isGiven(values) ? planOf(text) : undefined
    if (plan === undefined) return Reflect.apply(query, client, [text, values, ...others])
    const old = plan.use()
    if (old !== null) void client.query(`deallocate ${old}`).catch(() => undefined)
    return Reflect.apply(query, client, [{ name: plan.name, text, values }, ...others])
  }
  Reflect.set(client, 'query', planned)
  void client.query(byKeyOnly).catch(() => undefined)
}

function isGiven(values: unknown): boolean {
  return Array.isArray(values) && values.length > 0
}
