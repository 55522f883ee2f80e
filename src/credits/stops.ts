import type { Entry, Matched } from './entry.ts'

/** The stops that begin with what the API said; which of them end, the statement that writes them sees. */
export function stopsOf(matched: readonly Matched[]): { reason: string; detail: string }[] {
  const first = (wanted: (signal: Entry['signal']) => boolean) =>
    matched.find(({ entry }) => wanted(entry.signal))?.entry
  const told = [
    { reason: 'auth', entry: first((signal) => signal === 'key_refused') },
    { reason: 'credit_floor', entry: first((signal) => signal === 'no_credit') },
    { reason: 'rate', entry: first((signal) => typeof signal === 'object' && signal !== null) },
  ]
  return told.flatMap(({ reason, entry }) =>
    entry === undefined ? [] : [{ reason, detail: sentence(entry) }],
  )
}

function sentence({ httpStatus, code, message }: Entry): string {
  return `the API answered ${httpStatus ?? 'nothing'} ${code ?? ''}${message === null ? '' : `: ${message}`}`
}
