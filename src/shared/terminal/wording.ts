const fewNames = 8

/** The first few of names that may be many. */
export function firstNames(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  return names.slice(0, fewNames).join(', ') + (names.length > fewNames ? ', …' : '')
}

/** `1 line`, `2 lines`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** `1 row`, `12,345 rows`. */
export function rowsText(rows: number): string {
  return `${rows.toLocaleString('en')} row${rows === 1 ? '' : 's'}`
}

/** Names unreadable answers whose bodies were read, and why they count as unreadable; empty where there are none. */
export function flawText(flaws: {
  readonly paid_refusal: number
  readonly other_query: number
}): string {
  const { paid_refusal: refused, other_query: other } = flaws
  const parts: string[] = []
  if (other > 0) parts.push(`${other} ${other === 1 ? 'answers' : 'answer'} another query`)
  if (refused > 0) parts.push(`${refused} refused by the API and charged`)
  return parts.join(', ')
}

/** A word as a shell takes it for one. */
export function typed(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A span as people say it; never shorter than it is. */
export function spanText(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`
  if (seconds < 6_000) return `${Math.ceil(seconds / 60)} min`
  const minutes = Math.ceil(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
