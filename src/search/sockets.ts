import { Pool } from 'undici'
import type { ExchangeEnding } from './exchange.ts'

// Under load a socket is used again within milliseconds. One that idles longer may be closed by the server just as we
// send, which loses a paid call; a server that names its own limit is believed, less two seconds.
const idleMs = 1000
const longestIdleMs = 30_000
// After a socket broke before any response each call gets a socket of its own for this long: the server closes idle ones early.
const warinessMs = 60_000
const staleCodes: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

export interface SocketOptions {
  readonly lanes: number
  readonly timeoutMs: number
}

/** Connections to one server, no more than lanes. Nothing is connected before it is needed. */
export class Sockets {
  readonly #kept: Pool
  readonly #single: Pool
  #waryUntil = 0

  constructor(origin: string, { lanes, timeoutMs }: SocketOptions) {
    const shared = {
      connections: lanes,
      connectTimeout: Math.min(timeoutMs, 10_000),
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: longestIdleMs,
      // One deadline holds for the whole request, and it is ours.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    this.#kept = new Pool(origin, { ...shared, pipelining: 1 })
    this.#single = new Pool(origin, { ...shared, pipelining: 0 })
  }

  /** Where the next call goes. */
  pool(): Pool {
    return performance.now() < this.#waryUntil ? this.#single : this.#kept
  }

  /** Learns from a socket that broke before any response. */
  learn({ sent, status, failure }: ExchangeEnding): void {
    if (!sent || status !== null || !staleCodes.has(failure?.code ?? '')) return
    this.#waryUntil = performance.now() + warinessMs
  }

  /** Cuts what is in flight. */
  async close(): Promise<void> {
    await Promise.all([this.#kept.destroy(), this.#single.destroy()])
  }
}
