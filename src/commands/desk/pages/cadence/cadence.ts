import { readFrontierRounds } from '../../../../store/analysis/expansion.ts'
import { readRestingLists, readRestingNights } from '../../../../store/nights/receipts.ts'
import { html } from '../../../drawing/html.ts'
import { nothing } from '../../../drawing/parts.ts'
import { definePage } from '../../page.ts'
import { chooser, dayFields } from '../choose.ts'
import { drawResting } from './draw.ts'
import { drawFrontier } from './frontier.ts'

const usualDays = 92

/** What asking less came to: credits and moves before and after, what rest hid, how long queries rest, and what the frontier brought. */
export const cadencePage = definePage({
  path: '/cadence',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: async (reading, span) => {
    const resting = await reading.books(async (db) => {
      return { lists: await readRestingLists(db), nights: await readRestingNights(db, span) }
    })
    // Where a long history makes it slow, the page can do without.
    return { ...resting, rounds: await reading.briefly(readFrontierRounds) }
  },
  show: ({ lists, nights, rounds }, place, span) => ({
    title: 'Asking less',
    plain: true,
    lead: html`Lists of which each query is asked as often as it changes: what that saved from
    ${span.since} to ${span.until}, and what it may have missed.`,
    body: html`${chooser({ place, name: 'Which days' }, dayFields(span))}
    ${
      lists.length === 0
        ? nothing(
            'No list rests: every query is asked every night. What resting would save and miss can be seen before it is turned on.',
            'npm run cadence -- --backtest',
          )
        : lists.map((list, nth) =>
            drawResting(
              list,
              nights.filter((night) => night.list === list.list),
              nth,
            ),
          )
    }
    ${drawFrontier(rounds)}`,
  }),
})
