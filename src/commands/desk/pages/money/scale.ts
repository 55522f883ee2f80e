const grouped = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** A number beside a picture, where there is little room. */
export function tickText(value: number): string {
  return Math.abs(value) < 10_000 ? grouped.format(value) : compact.format(value)
}
