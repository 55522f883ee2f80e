import { html } from '../../../drawing/html.ts'
import { definePage } from '../../page.ts'
import { amount, given, percent, tiles } from '../../../drawing/parts.ts'
import { daysText } from '../choose.ts'
import { drawCoverage } from './coverage.ts'
import { drawMembers, drawRejected } from './members.ts'
import { askList, readListPage } from './read.ts'

/** What a list holds, what was answered of it, what it cost, what could not be read. */
export const listPage = definePage({
  path: '/lists/:list',
  ask: askList,
  read: (reading, asked) => reading.answers((db) => readListPage(db, asked)),
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
