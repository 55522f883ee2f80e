import {
  readListDays,
  readListFacts,
  type ListDay,
  type ListFacts,
} from '../../../../store/analysis/list-facts.ts'
import {
  readListMembers,
  readRejectedLines,
  type ListMember,
  type RejectedLine,
} from '../../../../store/analysis/list-members.ts'
import { readSpan, type ReadSpan } from '../../../../store/analysis/span.ts'
import type { Database } from '../../../../store/database.ts'
import { NotThere, type PageAddress } from '../../address.ts'
import { askedSpan } from '../choose.ts'

const atOnce = 100

/** What an address asks of the page of a list. */
export function askList(address: PageAddress) {
  return {
    list: address.id('list'),
    span: askedSpan(address, { days: 30, most: 120 }),
    word: address.text('word'),
    tag: address.text('tag'),
    respelled: address.ticked('respelled'),
    sheet: address.whole('sheet', { fallback: 1, most: 100_000 }),
  }
}

/** The same, by name. */
export type ListAsked = ReturnType<typeof askList>

export interface ListFound {
  readonly list: ListFacts
  readonly span: ReadSpan
  readonly days: readonly ListDay[]
  readonly members: readonly ListMember[]
  /** True: there are more members behind these. */
  readonly more: boolean
  readonly rejected: readonly RejectedLine[]
}

/** Reads all that the page of a list shows. */
export async function readListPage(db: Database, asked: ListAsked): Promise<ListFound> {
  const [list] = await readListFacts(db, asked.list)
  if (list === undefined) throw new NotThere(`There is no list ${asked.list}.`)
  const span = await readSpan(db, asked.span)
  const skip = (asked.sheet - 1) * atOnce
  const members = await readListMembers(db, { ...asked, skip, most: atOnce + 1 })
  return {
    list,
    span,
    days: await readListDays(db, { name: list.name, ...span }),
    members: members.slice(0, atOnce),
    more: members.length > atOnce,
    rejected: list.run === null ? [] : await readRejectedLines(db, list.run),
  }
}
