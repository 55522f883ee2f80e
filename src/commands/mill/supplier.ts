import type { Config } from '../../shared/config.ts'

/** Where answers are bought, and whose money pays for them. */
export interface Supplier {
  readonly origin: 'live' | 'test' | 'sandbox'
  /** Kept with each answer: an answer is reused only for the same API. */
  readonly api: string
  readonly account: string
}

/** Whose balance it is, and how its answers are marked. */
export function supplierOf(config: Config): Supplier {
  if (config.api === null) {
    return { origin: 'sandbox', api: 'bundled', account: config.account ?? 'bundled' }
  }
  const { url, key } = config.api
  const path = url.pathname.replace(/\/+$/, '')
  const origin = key.reveal().startsWith('sk_test_') ? 'test' : 'live'
  return { origin, api: `${url.host}${path}`, account: config.account ?? url.host }
}
