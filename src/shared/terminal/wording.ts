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
