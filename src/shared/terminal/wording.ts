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
