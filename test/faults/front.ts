import { z } from 'zod'
import type { Environment } from '../../src/base/config.ts'
import { makeKey } from '../../src/service/keys.ts'
import type { Program } from './program.ts'

const shown = z.object({ url: z.string(), key: z.string(), admin: z.string() })

const books = z.object({
  balance: z.number(),
  least: z.number(),
  charged: z.number(),
  charges: z.array(
    z.looseObject({
      q: z.string().nullable(),
      charged: z.number(),
      lied: z.number(),
      balance: z.number(),
      at: z.number(),
      charged_at: z.number().nullable(),
    }),
  ),
  events: z.array(z.looseObject({ what: z.string(), credits: z.number(), at: z.number() })),
})

/** Records of the stand-in for the paid API. */
export type FrontBooks = z.output<typeof books>

/** The stand-in for the paid API, which injects faults and keeps its own records. */
export class Front {
  readonly url: string
  /** Every key that was ever accepted; the last one is in use. */
  readonly keys: string[]
  readonly #admin: string
  readonly #program: Program

  private constructor(program: Program, { url, key, admin }: z.output<typeof shown>) {
    this.url = url
    this.keys = [key]
    this.#admin = admin
    this.#program = program
  }

  static async open(program: Program): Promise<Front> {
    const line = await program.firstLine
    return new Front(program, shown.parse(JSON.parse(line)))
  }

  async books(): Promise<FrontBooks> {
    const response = await this.#ask('charges')
    return books.parse(await response.json())
  }

  async sums(): Promise<{ balance: number; charged: number }> {
    const response = await this.#ask('balance')
    return z.object({ balance: z.number(), charged: z.number() }).parse(await response.json())
  }

  async set(change: object): Promise<void> {
    const body = JSON.stringify(change)
    const response = await this.#ask('set', { method: 'POST', body })
    if (!response.ok) throw new Error(`the stand-in refused ${body}: ${await response.text()}`)
  }

  /** Each request uses a new connection, because an idle one may be closed just as it is reused. */
  #ask(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#admin}/${path}`, { ...init, headers: { connection: 'close' } })
  }

  get key(): string {
    return this.keys.at(-1) ?? ''
  }

  /** Adds another key; the previous one is accepted until `revoke`. */
  async changeKey(): Promise<void> {
    const keys = [this.key]
    const key = makeKey('live')
    await this.set({ key, keys })
    this.keys.push(key)
  }

  /** Accepts only the key in use. */
  async revoke(): Promise<void> {
    await this.set({ keys: [] })
  }

  async close(): Promise<void> {
    this.#program.signal('SIGTERM')
    await this.#program.ended
  }
}

/** An account: its name, and the stand-in that keeps its balance. */
export interface Wallet {
  readonly name: string
  readonly front: Front
}

/** Settings for a command that buys from this account. */
export function settingsOf({ name, front }: Wallet): Environment {
  return { MILL_ACCOUNT: name, SEARCH_API_URL: front.url, SEARCH_API_KEY: front.key }
}
