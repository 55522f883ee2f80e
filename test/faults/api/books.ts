import { appendFileSync } from 'node:fs'
import { cost } from '../../../src/service/keys.ts'
import { fraction } from '../../../src/base/random.ts'
import type { PriceRule } from './knobs.ts'

/** One request in the stand-in's own records, with which a client's ledger is compared. */
export interface RequestEntry {
  /** Number in order of arrival. */
  readonly n: number
  readonly q: string
  readonly num: number | null
  readonly hl: string | null
  readonly gl: string | null
  readonly location: string | null
  readonly device: string | null
  /** Credits charged so far. */
  charged: number
  /** Credits charged that the reply does not report. */
  lied: number
  /** Balance right after the charge, or now if nothing was charged. */
  balance: number
  /** Outcome of the request: `answered`, `refused`, or the kind of the fault. */
  what: string
  status: number | null
  /** Milliseconds since 1970. */
  readonly at: number
  charged_at: number | null
  ended_at: number | null
}

/** A balance change that no request caused. */
interface Event {
  readonly what: 'renewal' | 'other'
  readonly credits: number
  readonly balance: number
  readonly at: number
}

/** The balance with all of its changes. */
export class StandInBooks {
  readonly entries: RequestEntry[] = []
  readonly events: Event[] = []
  readonly #file: string | null
  #balance: number
  #least: number

  constructor(balance: number, file: string | null) {
    this.#balance = balance
    this.#least = balance
    this.#file = file
  }

  get balance(): number {
    return this.#balance
  }

  /** The lowest balance so far. */
  get least(): number {
    return this.#least
  }

  get charged(): number {
    return this.entries.reduce((sum, entry) => sum + entry.charged, 0)
  }

  open(params: URLSearchParams): RequestEntry {
    const num = params.get('num')
    const entry: RequestEntry = {
      n: this.entries.length + 1,
      q: params.get('q') ?? '',
      num: num === null ? null : Number(num),
      hl: params.get('hl'),
      gl: params.get('gl'),
      location: params.get('location'),
      device: params.get('device'),
      charged: 0,
      lied: 0,
      balance: this.#balance,
      what: 'arrived',
      status: null,
      at: Date.now(),
      charged_at: null,
      ended_at: null,
    }
    this.entries.push(entry)
    return entry
  }

  /** Returns false if fewer credits are left. */
  charge(entry: RequestEntry, credits: number): boolean {
    if (credits > this.#balance) return false
    this.#move(-credits)
    entry.charged += credits
    entry.balance = this.#balance
    entry.charged_at = Date.now()
    this.#append({ type: 'charge', n: entry.n, credits, balance: this.#balance })
    return true
  }

  end(entry: RequestEntry, what: string, status: number | null): void {
    entry.what = what
    entry.status = status
    entry.ended_at = Date.now()
    this.#append({ type: 'end', ...entry })
  }

  /** A plan renewal, or a balance set by a test. */
  renew(balance: number): void {
    const credits = balance - this.#balance
    this.#balance = balance
    this.#least = Math.min(this.#least, balance)
    this.#note({ what: 'renewal', credits, balance, at: Date.now() })
  }

  /** Spending by another program with the same key, limited to the credits that are left. */
  spendElsewhere(credits: number): void {
    const spent = Math.min(credits, this.#balance)
    this.#move(-spent)
    this.#note({ what: 'other', credits: -spent, balance: this.#balance, at: Date.now() })
  }

  #move(credits: number): void {
    this.#balance += credits
    this.#least = Math.min(this.#least, this.#balance)
  }

  #note(event: Event): void {
    this.events.push(event)
    this.#append({ type: 'event', ...event })
  }

  /** Written at once and completely, so that the records survive if the stand-in is killed. */
  #append(line: object): void {
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

/** Cost of a request at the current price. */
export function priceOf(price: PriceRule, entry: RequestEntry, seed: string): number {
  const num = entry.num ?? 10
  if (price === 'num') return cost(num)
  if (typeof price === 'number') return price
  if ('byNum' in price) return price.byNum[String(num)] ?? cost(num)
  const span = price.most - price.least + 1
  return price.least + Math.floor(fraction(`${seed} price ${entry.n}`) * span)
}
