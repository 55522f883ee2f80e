const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** A number as people read it: `12,345`. */
export function numberText(value: number): string {
  return grouped.format(value)
}

/** The same where there is little room: `12.35K`. */
export function shortNumber(value: number): string {
  return compact.format(value)
}
