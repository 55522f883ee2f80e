import { readListFacts, type ListFacts } from '../../../../store/analysis/list-facts.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { definePage, type PagePlace } from '../../page.ts'
import {
  amount,
  given,
  nothing,
  runBadge,
  section,
  table,
  to,
  unknown,
} from '../../../drawing/parts.ts'
import { toList } from '../ways.ts'

/** Every list, and what its newest run came to. */
export const listsPage = definePage({
  path: '/lists',
  nav: 'Lists',
  ask: () => null,
  read: (reading) => reading.answers((db) => readListFacts(db, null)),
  show: (lists, place) => ({
    title: 'Lists',
    plain: true,
    lead: 'What is asked, what of it was answered, and what could not be read.',
    body:
      lists.length === 0
        ? nothing(
            'Your lists would be here: what each holds, what was answered, which lines could not be used.',
            'npm run enqueue inputs/keywords.csv',
          )
        : section(
            { id: 'lists', title: html`Lists (${amount(lists.length)})` },
            listTable(lists, place),
          ),
  }),
})

function listTable(lists: readonly ListFacts[], place: PagePlace): Html {
  return table(
    'Every list',
    [
      { head: 'List', cell: ({ id, name }) => toList(place, id, name) },
      { head: 'Queries', number: true, cell: ({ members }) => amount(members) },
      {
        head: 'Newest run',
        word: true,
        cell: ({ runDate, state }) =>
          runDate === null || state === null ? unknown : html`${runDate} ${runBadge(state)}`,
      },
      {
        head: 'Rejected lines',
        number: true,
        cell: ({ id, rejected }) =>
          rejected === null || rejected === 0
            ? amount(rejected)
            : to(`${place.href(`/lists/${id}`)}#rejected`, amount(rejected)),
      },
      { head: 'Credits in 30 days', number: true, cell: ({ credits }) => amount(credits) },
      { head: 'Read from', cell: ({ source }) => given(source) },
    ],
    lists,
  )
}
