import { isGap } from './trial.ts'

/** How the numbers of a column are written; the other sign divides thousands. */
export type DecimalSign = '.' | ','

const decorations = /^(?:[<>~≈]|US|CA|AU|[A-Z]{3})*\s*[$€£¥₹₩₽]?\s*|\s*(?:[%$€£¥₹₩₽]|[A-Z]{3})?$/gu

// What nearly every cell of a column of numbers holds: such a one needs no looking at signs and currencies.
const digits = /^\d{1,15}$/

/** The digits and signs of a number, without currency, percent and blanks between thousands; null for what is none. */
function bareNumber(cell: string): string | null {
  if (digits.test(cell)) return cell
  const text = cell
    .trim()
    .replace(decorations, '')
    .replace(/(?<=\d)[\s'’](?=\d{3})/gu, '')
  return /^\d[\d.,]*$/.test(text) && /\d$/.test(text) ? text : null
}

/** Reads a number as its column writes it; null for a gap, undefined for what is no number. */
export function readNumber(cell: string, decimal: DecimalSign): number | null | undefined {
  if (digits.test(cell)) return Number(cell)
  if (isGap(cell)) return null
  const bare = bareNumber(cell)
  if (bare === null) return undefined
  const [thousands, sign] = decimal === '.' ? [',', '.'] : ['.', ',']
  const [whole = '', part, more] = bare.split(sign)
  const groups = whole.split(thousands)
  if (more !== undefined || part?.includes(thousands) === true) return undefined
  if (groups.length > 1 && !groups.slice(1).every((group) => /^\d{3}$/.test(group)))
    return undefined
  const value = Number(`${groups.join('')}.${part ?? '0'}`)
  return groups.join('').length <= 15 ? value : undefined
}

/** What the numbers of a column say about how they are written. */
export class NumberStyle {
  #certain = { point: 0, comma: 0 }
  #grouped = { point: 0, comma: 0 }
  #ungrouped = 0

  look(cell: string): void {
    const text = bareNumber(cell)
    if (text === null) return
    if (/^\d+$/.test(text)) {
      if (text.length > 3) this.#ungrouped++
      return
    }
    const last = text.includes('.') && text.lastIndexOf('.') > text.lastIndexOf(',')
    const sign = last ? 'point' : 'comma'
    const other = last ? 'comma' : 'point'
    const tail = text.slice(text.search(/[.,]\d*$/) + 1)
    if (text.includes('.') && text.includes(',')) this.#certain[sign]++
    else if (text.split(/[.,]/).length > 2) this.#certain[other]++
    else if (tail.length !== 3 || text.startsWith('0') || text.length > 7) this.#certain[sign]++
    else this.#grouped[sign]++
  }

  /** Null when the column writes its numbers in two ways, or when 1.200 in it may be either of two numbers. */
  decide(wanted: DecimalSign | undefined, delimiter: string | null): DecimalSign | null {
    if (wanted !== undefined) return wanted
    const { point, comma } = this.#certain
    if (point > 0 && comma > 0) return null
    if (point > 0) return '.'
    if (comma > 0) return ','
    if (this.#grouped.point + this.#grouped.comma === 0) return '.'
    if (this.#ungrouped > 0 || (this.#grouped.point > 0 && this.#grouped.comma > 0)) return null
    if (this.#grouped.comma > 0) return '.'
    return delimiter === ';' || delimiter === '\t' ? ',' : null
  }
}
