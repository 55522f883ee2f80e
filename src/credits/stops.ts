import type { Books } from '../store/ledger/books.ts'
import type { Clerk, Entry, Matched } from './entry.ts'
import type { Settled } from './settle.ts'

/** The stops that begin or end with what the API said. */
export function stopsOf(
  matched: readonly Matched[],
  { clerk, books, settled }: { clerk: Clerk; books: Books; settled: Settled },
) {
  const stops: { reason: string; until_ms: number | null; detail: string | null }[] = []
  const entryWith = (wanted: (signal: Entry['signal']) => boolean) =>
    matched.find(({ entry }) => wanted(entry.signal))?.entry
  const refused = entryWith((signal) => signal === 'key_refused')
  if (refused !== undefined) {
    stops.push({ reason: 'auth', until_ms: null, detail: sentence(refused) })
  }
  const empty = entryWith((signal) => signal === 'no_credit')
  if (empty !== undefined) {
    stops.push({ reason: 'credit_floor', until_ms: null, detail: sentence(empty) })
  }
  const slowed = entryWith((signal) => typeof signal === 'object' && signal !== null)
  if (slowed !== undefined) {
    const until = settled.account.notBefore
    stops.push({ reason: 'rate', until_ms: until, detail: sentence(slowed) })
  }
  // Another key than the refused one was answered: the account goes on with it.
  const newKey =
    books.account.blocked_key !== clerk.key &&
    entryWith((signal) => signal === 'welcome') !== undefined
  const stood = books.stops.some(({ reason }) => reason === 'auth')
  return { stops, cleared: newKey && stood ? [{ reason: 'auth', by: 'key' }] : [] }
}

function sentence({ httpStatus, code, message }: Entry): string {
  return `the API answered ${httpStatus ?? 'nothing'} ${code ?? ''}${message === null ? '' : `: ${message}`}`
}
