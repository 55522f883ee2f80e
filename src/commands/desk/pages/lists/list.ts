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
import { NotThere, type PageAddress } from '../../address.ts'
import { html } from '../../../report/html.ts'
import { definePage } from '../../page.ts'
import { amount, given, percent, tiles } from '../../parts.ts'
import { askedSpan, daysText } from '../choose.ts'
import { drawCoverage } from './coverage.ts'
import { drawMembers, drawRejected } from './members.ts'

const atOnce = 100

function askList(address: PageAddress) {
  return {
    list: address.id('list'),
    span: askedSpan(address, { days: 30, most: 120 }),
    word: address.text('word'),
    tag: address.text('tag'),
    respelled: address.ticked('respelled'),
    sheet: address.whole('sheet', { fallback: 1, most: 100_000 }),
  }
}

/** What the page of a list is asked for. */
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

/** What a list holds, what was answered of it, what it cost, what could not be read. */
export const listPage = definePage({
  path: '/lists/:list',
  ask: askList,
  read: (reading, asked) =>
    reading.answers(async (db): Promise<ListFound> => {
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
    }),
  show: (found, place, asked) => {
    const { list, days, span } = found
    const last = days[0]
    const credits = days.reduce((sum, day) => sum + day.credits, 0)
    return {
      title: list.name,
      lead: html`A list read from ${given(list.source)}. ${daysText(span, place)}.`,
      body: html`${tiles([
        { value: amount(list.members), text: 'queries now' },
        {
          value: percent(last === undefined ? null : last.answered / last.planned),
          text: last === undefined ? 'answered' : `answered on ${last.runDate}`,
        },
        { value: amount(credits), text: 'credits in this time' },
        { value: amount(list.rejected), text: 'lines rejected by the newest run' },
      ])}
      ${drawCoverage(found, place)} ${drawMembers(found, asked, place)} ${drawRejected(found)}`,
    }
  },
})
