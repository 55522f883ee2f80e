import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, nothing, section, table, to } from '../../../drawing/parts.ts'
import { chooser, textField } from '../choose.ts'
import { toQuery } from '../ways.ts'
import type { ListAsked, ListFound } from './read.ts'

/** The queries of a list: weights, labels, and what each line was read as. */
export function drawMembers(
  { members, more, list }: ListFound,
  { word, tag, respelled, sheet }: ListAsked,
  place: PagePlace,
): Html {
  const form = chooser(
    { place, name: 'Which queries' },
    [
      textField({ name: 'word', label: 'A part of the text', value: word }),
      textField({ name: 'tag', label: 'Label', value: tag }),
      html`<label
        ><input type="checkbox" name="respelled" value="1" ${respelled ? html`checked` : null} />
        only lines read as something else</label
      >`,
    ],
    'Find',
  )
  const way = (text: string, to_: number) =>
    to(
      place.href(`/lists/${list.id}`, { word, tag, respelled: respelled ? 1 : null, sheet: to_ }),
      text,
    )
  const sheets = html`<nav class="steps" aria-label="Sheets of queries">
    <ul>
      ${sheet > 1 ? html`<li>${way('← the hundred before', sheet - 1)}</li>` : null}
      ${more ? html`<li>${way('the next hundred →', sheet + 1)}</li>` : null}
    </ul>
  </nav>`
  return section(
    { id: 'members', title: 'Queries', about: readingOf(list.reading) },
    html`${form}
    ${members.length === 0 ? nothing('No query of the list is like this.', null) : html`${memberTable(members, place)} ${sheets}`}`,
  )
}

/** How a person said that the list is read; nothing said: as it looks. */
function readingOf(reading: ListFound['list']['reading']): Html {
  if (reading === null)
    return html`The heaviest first. The list is read as it looks: nobody said otherwise.`
  return html`The heaviest first. The list is read as somebody said:
    <code>${JSON.stringify(reading)}</code>`
}

function memberTable(members: ListFound['members'], place: PagePlace): Html {
  return table(
    'Queries of the list',
    [
      {
        head: 'Query',
        cell: ({ id, q, current }) =>
          html`${toQuery(place, id, q)}${current ? null : html` <span class="soft">not in it any more</span>`}`,
      },
      { head: 'Asked as', cell: ({ variant }) => given(variant === '' ? null : variant) },
      { head: 'Its line, read as this', cell: ({ given: line }) => given(line) },
      { head: 'Weight', number: true, cell: ({ weight }) => amount(weight) },
      { head: 'Priority', number: true, cell: ({ priority }) => amount(priority) },
      { head: 'Labels', cell: ({ tags }) => given(tags.length === 0 ? null : tags.join(', ')) },
      { head: 'Page that ought to rank', cell: ({ target }) => given(target) },
    ],
    members,
  )
}

/** Lines that the newest run could not use. */
export function drawRejected({ rejected, list }: ListFound): Html {
  const { rows, accepted, duplicates, runDate } = list
  const about =
    runDate === null
      ? 'The list has no run yet.'
      : html`The run of ${runDate} read ${amount(rows)} lines: ${amount(accepted)} gave a query,
        ${amount(duplicates)} one that was there already, ${amount(list.rejected)} none.`
  const cut =
    (list.rejected ?? 0) > rejected.length
      ? html`<p class="soft">The first ${amount(rejected.length)} are shown.</p>`
      : null
  return section(
    { id: 'rejected', title: 'Rejected lines', about },
    rejected.length === 0
      ? nothing('Lines that could not be used would be here, each with its reason.', null)
      : html`${table(
          'Lines with their reasons',
          [
            { head: 'Line', number: true, cell: ({ line }) => amount(line) },
            { head: 'Reason', cell: ({ reason }) => given(reason) },
            { head: 'It begins', cell: ({ content }) => given(content) },
          ],
          rejected,
        )}
        ${cut}`,
  )
}
