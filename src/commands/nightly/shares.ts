import type { ColumnReading } from './columns.ts'
import type { TaggedShare } from '../../store/planning/order.ts'

/** The column of shares: the part of a night's credits that queries of a label are given when money is short. */
export const shareCell: ColumnReading<readonly TaggedShare[]> = {
  read: readShares,
  expected: 'labels with at most 100 % together, like brand=30%|guides=20%, or nothing',
  usual: [],
}

/** Null as well for a label that comes twice, and for more than all. */
function readShares(text: string): readonly TaggedShare[] | null {
  const parts = text
    .split('|')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  const shares: TaggedShare[] = []
  for (const part of parts) {
    const [, tag = '', percent = ''] = /^(.+?)\s*[=:]\s*(\d{1,3})\s*%$/u.exec(part) ?? []
    const share = Number(percent) / 100
    if (tag === '' || share <= 0 || share > 1) return null
    if (shares.some((one) => one.tag === tag)) return null
    shares.push({ tag, share })
  }
  const percents = shares.reduce((sum, { share }) => sum + Math.round(share * 100), 0)
  return percents > 100 ? null : shares
}

/** Shares as a person reads them. */
export function sharesPhrase(shares: readonly TaggedShare[]): string {
  return shares.map(({ tag, share }) => `${tag} ${Math.round(share * 100)} %`).join(', ')
}
