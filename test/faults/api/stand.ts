import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { makeKey } from '../../../src/service/keys.ts'
import { fraction } from '../../../src/base/random.ts'
import { BodyWriter } from './bodies.ts'
import { priceOf, type RequestEntry, StandInBooks } from './books.ts'
import { chooseFault, type Fault } from './fault.ts'
import { changeShape, type KnobChange, type Knobs } from './knobs.ts'
import { answerWell, errorBody, isCharged, isLie, misbehave, type Scene } from './misbehave.ts'

/** State shared by all requests to one stand-in. */
export class Stand {
  url = ''
  knobs: Knobs
  readonly books: StandInBooks
  readonly #writer: BodyWriter
  readonly #attempts = new Map<string, number>()
  readonly #replays = new Replays()

  constructor(knobs: Knobs) {
    this.knobs = { ...knobs, key: knobs.key ?? makeKey(knobs.kind) }
    this.books = new StandInBooks(knobs.credits, knobs.logFile ?? null)
    this.#writer = new BodyWriter(knobs.seed)
  }

  get key(): string {
    return this.knobs.key ?? ''
  }

  set(change: KnobChange): void {
    const { credits, spend, ...knobs } = changeShape.parse(change)
    if (credits !== undefined) this.books.renew(credits)
    if (spend !== undefined) this.books.spendElsewhere(spend)
    const given = Object.entries(knobs).filter(([, value]) => value !== undefined)
    this.knobs = { ...this.knobs, ...Object.fromEntries(given) }
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    if (url.pathname !== '/v1/search' || request.method !== 'GET') {
      refuse(response, 404, 'NOT_FOUND')
      return
    }
    const entry = this.books.open(url.searchParams)
    const key = sentKey(request.headers.authorization, url.searchParams)
    if (key === null || !this.#takes(key)) {
      const status = key === null ? 401 : 403
      refuse(response, status, status === 401 ? 'UNAUTHORIZED' : 'FORBIDDEN')
      this.books.end(entry, 'refused', status)
      return
    }
    const { replays } = this.knobs
    if (replays) response.setHeader('x-idempotency-window', '86400')
    const name = replays ? first(request.headers['idempotency-key']) : null
    const fault = this.#choose(entry, url.searchParams)
    const paid = await this.#replays.find(name)
    if (paid === null) await this.#serve(entry, response, { fault, name })
    else this.books.end(entry, 'replayed', await this.#send({ entry, response, fault }, paid))
  }

  #takes(key: string): boolean {
    return key === this.key || this.knobs.keys.includes(key)
  }

  #choose(entry: RequestEntry, params: URLSearchParams): Fault | null {
    params.delete('api_key')
    params.sort()
    const identity = params.toString()
    const attempt = (this.#attempts.get(identity) ?? 0) + 1
    this.#attempts.set(identity, attempt)
    const { faults, seed } = this.knobs
    return chooseFault(faults, seed, { n: entry.n, identity, q: entry.q, attempt })
  }

  /** The charge happens at the configured moment, whether or not the client is still connected. */
  async #serve(
    entry: RequestEntry,
    response: ServerResponse,
    { fault, name }: { fault: Fault | null; name: string | null },
  ): Promise<void> {
    const tell = this.#replays.begin(name)
    const { chargeAt, delayMs, seed } = this.knobs
    const delay = pickDelay(delayMs, `${seed} delay ${entry.n}`)
    const share = { start: 0, end: 1, between: fraction(`${seed} moment ${entry.n}`) }[chargeAt]
    await pause(delay * share)
    const chargedLate = fault?.kind === 'late' && fault.what === 'charge'
    if (isCharged(fault) && !chargedLate && !this.#charge(entry)) {
      tell(null)
      this.books.end(entry, 'spent', this.#refuseSpent(response))
      return
    }
    if (isLie(fault)) entry.lied = entry.charged
    const paid = { used: entry.charged, remaining: this.books.balance }
    if (!chargedLate) tell(isCharged(fault) ? paid : null)
    await pause(delay * (1 - share))
    if (fault?.kind === 'late' && fault.what === 'answer') await pause(fault.afterMs)
    const status = await this.#send({ entry, response, fault }, paid)
    if (fault?.kind === 'late' && fault.what === 'charge') {
      await pause(fault.afterMs)
      this.#charge(entry)
      tell({ used: entry.charged, remaining: this.books.balance })
    }
    this.books.end(entry, fault?.kind ?? 'answered', status)
  }

  async #send(
    {
      entry,
      response,
      fault,
    }: { entry: RequestEntry; response: ServerResponse; fault: Fault | null },
    paid: Paid,
  ): Promise<number | null> {
    const num = entry.num !== null && entry.num >= 1 && entry.num <= 100 ? entry.num : 10
    const scene: Scene = {
      response,
      url: this.url,
      ...paid,
      open: (q) => this.#writer.open({ q: q ?? entry.q, num }),
    }
    return fault === null ? answerWell(scene) : misbehave(fault, scene)
  }

  /** A test key is not charged. */
  #charge(entry: RequestEntry): boolean {
    if (this.knobs.kind === 'test') return true
    return this.books.charge(entry, priceOf(this.knobs.cost, entry, this.knobs.seed))
  }

  #refuseSpent(response: ServerResponse): number {
    const status = Number(this.knobs.spent)
    refuse(response, status, status === 402 ? 'PAYMENT_REQUIRED' : 'QUOTA_EXCEEDED')
    return status
  }
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await wait(ms)
}

function pickDelay(delay: Knobs['delayMs'], name: string): number {
  if (typeof delay === 'number') return delay
  return delay.least + fraction(name) * (delay.most - delay.least)
}

function sentKey(header: string | undefined, params: URLSearchParams): string | null {
  return /^Bearer (.+)$/.exec(header ?? '')?.[1] ?? params.get('api_key')
}

function refuse(response: ServerResponse, status: number, code: string): void {
  const body = errorBody(code, 'Refused by the stand-in')
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

function first(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null
}

/** Cost of a request, and the balance after it. */
interface Paid {
  readonly used: number
  readonly remaining: number
}

/** Requests by their `Idempotency-Key`: each key is charged once, as in services that support it. */
class Replays {
  readonly #paid = new Map<string, Promise<Paid | null>>()

  /** Cost of an earlier request with the key, once it is known; null if nothing was charged. */
  async find(key: string | null): Promise<Paid | null> {
    return key === null ? null : ((await this.#paid.get(key)) ?? null)
  }

  /** Stores the outcome of a request; the function is called once it is known. */
  begin(key: string | null): (paid: Paid | null) => void {
    let tell: (paid: Paid | null) => void = () => undefined
    if (key !== null) this.#paid.set(key, new Promise((resolve) => (tell = resolve)))
    return (paid) => tell(paid)
  }
}
