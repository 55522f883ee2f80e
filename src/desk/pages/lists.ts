// The pages of lists: their contents, answers and cost.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import { dayOf } from '../../base/time/zone.ts'
import {
  type ListDay,
  type ListFacts,
  type ListMember,
  readListDays,
  readListFacts,
  readListMembers,
  readRejectedLines,
  type RejectedLine,
} from '../../features/analysis/list-facts.ts'
import { type ReadSpan, readSpan } from '../../features/analysis/span.ts'
import { NotThere, type PageAddress } from '../address.ts'
import { type Html, html, numberText } from '../drawing/html.ts'
import { drawPicture } from '../drawing/lines.ts'
import {
  amount,
  given,
  nothing,
  percent,
  runBadge,
  section,
  table,
  tiles,
  to,
  unknown,
} from '../drawing/parts.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedSpan, chooser, dayFields, daysText, textField } from './choose.ts'
import { dayPicture } from './domain.ts'
import { toList, toQuery } from './ways.ts'

/** All lists, with the results of their newest runs. */
export const listsPage = definePage({
  path: '/lists',
  area: 'Operations',
  nav: 'Lists',
  ask: () => null,
  read: (reading) => reading.answers((db) => readListFacts(db, null)),
  show: (lists, place) => ({
    title: 'Lists',
    plain: true,
    lead: 'Queries, their answers, and the lines that could not be read.',
    body:
      lists.length === 0
        ? nothing(
            'No list has been read. Each will be shown here, with its answers and the lines that could not be used.',
            npmRun('enqueue inputs/keywords.csv'),
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

/** A list with its results on some days. */
export type CoverageFound = Pick<ListFound, 'span' | 'days'> & {
  readonly list: Pick<ListFound['list'], 'id' | 'name'>
}

/** Answered queries of a list by day, and their cost. */
export function drawCoverage({ list, span, days }: CoverageFound, place: PagePlace): Html {
  const form = chooser({ place, name: 'Which days' }, dayFields(span))
  const body =
    days.length === 0
      ? nothing('The list has no run in this period.', npmRun('enqueue inputs/keywords.csv'))
      : html`${days.length < 2 ? null : picture(list.name, days.toReversed())}
        ${dayTable(days, place)}`
  const about =
    'Answered includes bought, reused and not asked, for which the last answer is used. Others are unreadable, suspect, of an origin that is not shown, unaffordable or cancelled. Credits are those of calls whose cost is known.'
  return section(
    {
      id: place.id('coverage'),
      title: place.still ? html`Coverage and costs of ${given(list.name)}` : 'Coverage and costs',
      about,
    },
    html`${form} ${body}`,
  )
}

function picture(name: string, days: readonly ListDay[]): Html {
  const title = `Queries of ${name} to be asked, and those answered, day by day`
  const at = ({ runDate }: ListDay) => dayOf(runDate)
  const most = Math.max(1, ...days.map(({ planned }) => planned))
  return drawPicture({
    title,
    series: [
      { name: 'answered', points: days.map((day) => ({ at: at(day), value: day.answered })) },
      { name: 'planned', points: days.map((day) => ({ at: at(day), value: day.planned })) },
    ],
    ...dayPicture,
    height: 200,
    range: [0, most * 1.05],
    format: numberText,
  })
}

function dayTable(days: readonly ListDay[], place: PagePlace): Html {
  const counts = [
    'planned',
    'bought',
    'reused',
    'notAsked',
    'failed',
    'unknown',
    'open',
    'others',
  ] as const
  return table(
    'Coverage day by day',
    [
      {
        head: 'Night',
        word: true,
        cell: ({ run, runDate }) =>
          run === null ? runDate : to(place.href(`/runs/${run}`), runDate),
      },
      {
        head: 'Answered',
        number: true,
        cell: ({ answered, planned }) => percent(planned === 0 ? null : answered / planned),
      },
      ...counts.map((name) => ({
        head: name === 'notAsked' ? 'not asked' : name,
        number: true as const,
        cell: (day: ListDay) => amount(day[name]),
      })),
      { head: 'Credits', number: true, cell: ({ credits }) => amount(credits) },
    ],
    days,
  )
}

/** Queries of a list: weights, labels, and the lines they were read from. */
function drawMembers(
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
        only lines that differ from their query</label
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
      ${sheet > 1 ? html`<li>${way('← previous hundred', sheet - 1)}</li>` : null}
      ${more ? html`<li>${way('next hundred →', sheet + 1)}</li>` : null}
    </ul>
  </nav>`
  return section(
    { id: 'members', title: 'Queries', about: readingOf(list.reading) },
    html`${form}
    ${members.length === 0 ? nothing('No query of the list matches.', null) : html`${memberTable(members, place)} ${sheets}`}`,
  )
}

/** Reading options specified for the list; if there are none, they are detected. */
function readingOf(reading: ListFound['list']['reading']): Html {
  if (reading === null) return html`Highest weight first. The format of the list was detected.`
  return html`Highest weight first. The list is read with these options:
    <code>${JSON.stringify(reading)}</code>`
}

function memberTable(members: ListFound['members'], place: PagePlace): Html {
  return table(
    'Queries of the list',
    [
      {
        head: 'Query',
        cell: ({ id, q, current }) =>
          html`${toQuery(place, id, q)}${current ? null : html` <span class="soft">no longer in the list</span>`}`,
      },
      { head: 'Asked as', cell: ({ variant }) => given(variant === '' ? null : variant) },
      { head: 'Line in the file', cell: ({ given: line }) => given(line) },
      { head: 'Weight', number: true, cell: ({ weight }) => amount(weight) },
      { head: 'Priority', number: true, cell: ({ priority }) => amount(priority) },
      { head: 'Labels', cell: ({ tags }) => given(tags.length === 0 ? null : tags.join(', ')) },
      { head: 'Target page', cell: ({ target }) => given(target) },
    ],
    members,
  )
}

function drawRejected({ rejected, list }: ListFound): Html {
  const { rows, accepted, duplicates, runDate } = list
  const about =
    runDate === null
      ? 'The list has no run yet.'
      : html`The run of ${runDate} read ${amount(rows)} lines: ${amount(accepted)} accepted,
        ${amount(duplicates)} merged as duplicates, ${amount(list.rejected)} rejected.`
  const cut =
    (list.rejected ?? 0) > rejected.length
      ? html`<p class="soft">The first ${amount(rejected.length)} are shown.</p>`
      : null
  return section(
    { id: 'rejected', title: 'Rejected lines', about },
    rejected.length === 0
      ? nothing('Rejected lines will be shown here, each with its reason.', null)
      : html`${table(
          'Lines with their reasons',
          [
            { head: 'Line', number: true, cell: ({ line }) => amount(line) },
            { head: 'Reason', cell: ({ reason }) => given(reason) },
            { head: 'Text', cell: ({ content }) => given(content) },
          ],
          rejected,
        )}
        ${cut}`,
  )
}

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

type ListAsked = ReturnType<typeof askList>

interface ListFound {
  readonly list: ListFacts
  readonly span: ReadSpan
  readonly days: readonly ListDay[]
  readonly members: readonly ListMember[]
  /** True if there are more members. */
  readonly more: boolean
  readonly rejected: readonly RejectedLine[]
}

async function readListPage(db: Database, asked: ListAsked): Promise<ListFound> {
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

/** The page of a list: its queries, answers, cost and unreadable lines. */
export const listPage = definePage({
  path: '/lists/:list',
  area: 'Operations',
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
        { value: amount(credits), text: 'credits in this period' },
        { value: amount(list.rejected), text: 'lines rejected by the newest run' },
      ])}
      ${drawCoverage(found, place)} ${drawMembers(found, asked, place)} ${drawRejected(found)}`,
    }
  },
})
