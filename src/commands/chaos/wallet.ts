import type { Front } from './front.ts'
import type { Environment } from '../../shared/config.ts'

/** An account: its name, and the stand-in that keeps its balance. */
export interface Wallet {
  readonly name: string
  readonly front: Front
}

/** What a command needs to buy from this account. */
export function settingsOf({ name, front }: Wallet): Environment {
  return { MILL_ACCOUNT: name, SEARCH_API_URL: front.url, SEARCH_API_KEY: front.key }
}
