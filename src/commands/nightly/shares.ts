import type { ColumnReading } from './columns.ts'
import type { TaggedShare } from '../../store/planning/order.ts'

/** What a line of the file gives when money is short: a part of all credits to its list, parts of that to labels. */
export interface Shares {
  /** From 0 to 1; null: no list is given one. */
  readonly part: number | null
  readonly shares: readonly TaggedShare[]
}

/** The column of shares. */
export const shareCell: ColumnReading<Shares> = {
  read: readShares,
  expected:
    'a percentage for the list and labels with at most 100 % together, like 40%|brand=30%|guides=20%, or nothing',
  usual: { part: null, shares: [] },
}

/** Null as well for a label that comes twice, and for more than all. */
function readShares(text: string): Shares | null {
  const words = text
    .split('|')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const shares: TaggedShare[] = []
  let part: number | null = null
  for (const word of words) {
    const [, tag, percent = ''] = /^(?:(.+?)\s*[=:]\s*)?(\d{1,3})\s*%$/u.exec(word) ?? []
    const share = Number(percent) / 100
    if (share <= 0 || share > 1) return null
    if (tag === undefined) {
      if (part !== null) return null
      part = share
    } else {
      if (shares.some((one) => one.tag === tag)) return null
      shares.push({ tag, share })
    }
  }
  return percentsOf(shares.map(({ share }) => share)) > 100 ? null : { part, shares }
}

/** In whole percents, so that 0.1 and 0.2 make three tenths. */
export function percentsOf(shares: readonly number[]): number {
  return shares.reduce((sum, share) => sum + Math.round(share * 100), 0)
}

/** A share as a person reads it. */
export function sharePhrase(share: number): string {
  return `${percentsOf([share])} %`
}

/** Shares of labels as a person reads them. */
export function sharesPhrase(shares: readonly TaggedShare[]): string {
  return shares.map(({ tag, share }) => `${tag} ${sharePhrase(share)}`).join(', ')
}
