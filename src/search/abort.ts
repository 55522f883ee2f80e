import type { Exchange } from './exchange.ts'

/** Ends calls when their signal says so. One listener per signal: hundreds on one would be taken for a leak. */
export class Stops {
  readonly #inFlight = new WeakMap<AbortSignal, Set<Exchange>>()

  add(signal: AbortSignal, exchange: Exchange): void {
    const others = this.#inFlight.get(signal)
    if (others !== undefined) {
      others.add(exchange)
      return
    }
    const exchanges = new Set([exchange])
    this.#inFlight.set(signal, exchanges)
    const cutAll = () => {
      for (const each of exchanges) stop(each)
    }
    signal.addEventListener('abort', cutAll, { once: true })
  }

  delete(signal: AbortSignal, exchange: Exchange): void {
    this.#inFlight.get(signal)?.delete(exchange)
  }
}

/** Ends one call for a reason of our own. */
export function stop(exchange: Exchange): void {
  exchange.cut('ABORTED', 'stopped by this program')
}
