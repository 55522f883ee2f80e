// List pages: contents, answers and cost.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import {
  type ListCoverage,
  type ListDay,
  type ListFacts,
  readListDays,
  readListFacts,
  readListMembers,
  readRejectedLines,
} from '../../features/analysis/list-facts.ts'
import { type ReadSpan, readSpan } from '../../features/analysis/span.ts'
import { NotThere, type PageAddress } from '../address.ts'
import { type Html, html, numberText } from '../drawing/html.ts'
import { dayLine, drawDays } from '../drawing/lines.ts'
import {
  amount,
  given,
  nothing,
  percent,
  runBadge,
  section,
  steps,
  tiles,
  to,
  unknown,
} from '../drawing/parts.ts'
import { column, table, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { storedFigures } from '../stored-figures.ts'
import { askedSpan, checkbox, chooser, dayChooser, daysText, textField } from './choose.ts'
import { toList, toQuery, toRun } from './ways.ts'

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
    body: tableSection(
      {
        id: 'lists',
        title: 'Lists',
        count: lists.length,
        empty: [
          'No list has been read. Lists will be shown here, with their answers and the lines that could not be used.',
          npmRun('enqueue inputs/keywords.csv'),
        ],
      },
      lists,
      [
        column.plain('List', ({ id, name }) => toList(place, id, name)),
        column.number('Queries', 'members'),
        column.word('Newest run', ({ runDate, state }) =>
          runDate === null || state === null ? unknown : html`${runDate} ${runBadge(state)}`,
        ),
        column.right('Rejected lines', ({ id, rejected }) =>
          rejected === null || rejected === 0
            ? amount(rejected)
            : to(`${place.href(`/lists/${id}`)}#rejected`, amount(rejected)),
        ),
        column.number('Credits in 30 days', 'credits'),
        column.text('Read from', 'source'),
      ],
    ),
  }),
})

export interface CoverageFound {
  readonly list: Pick<ListFacts, 'id' | 'name'>
  readonly span: ReadSpan
  readonly days: readonly ListDay[]
}

export function drawCoverage({ list, span, days }: CoverageFound, place: PagePlace): Html {
  const chart = {
    title: `Planned and answered queries of ${list.name}, day by day`,
    series: (['answered', 'planned'] as const).map((name) =>
      dayLine(name, days.toReversed(), (day) => day[name]),
    ),
    height: 200,
    format: numberText,
  }
  const body =
    days.length === 0
      ? nothing('The list has no runs in this period.', npmRun('enqueue inputs/keywords.csv'))
      : html`${days.length < 2 ? null : drawDays(chart)}
        ${table('Coverage day by day', days, [
          column.word('Night', ({ run, runDate }) =>
            run === null ? runDate : toRun(place, run, runDate),
          ),
          column.share('Answered', ({ answered, planned }) =>
            planned === 0 ? null : answered / planned,
          ),
          column.number('planned', 'planned'),
          column.number('bought', 'bought'),
          column.number('reused', 'reused'),
          column.number('not asked', 'notAsked'),
          column.number('failed', 'failed'),
          column.number('unknown', 'unknown'),
          column.number('open', 'open'),
          column.number('others', 'others'),
          column.number('Credits', 'credits'),
        ])}`
  return section(
    {
      id: place.id('coverage'),
      title: place.still ? html`Coverage and costs of ${given(list.name)}` : 'Coverage and costs',
      about:
        '“Answered” includes queries that were bought, reused or not asked (the last answer is used). The other queries are unreadable, suspect, from an origin that is not shown, unaffordable or cancelled. Credits include only calls whose cost is known.',
    },
    html`${dayChooser(place, span)} ${body}`,
  )
}

function drawMembers({ members, more, list }: ListFound, asked: ListAsked, place: PagePlace): Html {
  const { word, tag, respelled, sheet } = asked
  const differing = { name: 'respelled', value: '1', checked: respelled }
  const form = chooser(
    { place, name: 'Which queries' },
    [
      textField('word', 'Part of the text'),
      textField('tag', 'Tag'),
      () => checkbox(differing, 'only queries spelled differently in the list'),
    ],
    'Find',
  )
  const step = (text: string, nth: number) => {
    const filters = { word, tag, respelled: respelled ? 1 : null, sheet: nth }
    return to(place.href(`/lists/${list.id}`, filters), text)
  }
  const body = html`${table('Queries of the list', members, [
    column.plain(
      'Query',
      ({ id, q, current }) =>
        html`${toQuery(place, id, q)}${current ? null : html` <span class="soft">no longer in the list</span>`}`,
    ),
    column.text('Asked as', ({ variant }) => variant || null),
    column.text('Line in the file', 'given'),
    column.number('Weight', 'weight'),
    column.number('Priority', 'priority'),
    column.text('Tags', ({ tags }) => tags.join(', ') || null),
    column.text('Target page', 'target'),
  ])}
  ${steps('Pages of queries', [
    sheet > 1 ? step('← previous hundred', sheet - 1) : null,
    more ? step('next hundred →', sheet + 1) : null,
  ])}`
  return section(
    { id: 'members', title: 'Queries', about: readingOf(list.reading) },
    html`${form} ${members.length === 0 ? nothing('No queries in the list match.') : body}`,
  )
}

/** Describes the reading options that were set for the list. Options that were not set are detected automatically. */
function readingOf(reading: ListFacts['reading']): Html {
  if (reading === null)
    return html`Queries with the highest weight come first. The list's format was detected
    automatically.`
  return html`Queries with the highest weight come first. The list is read with these options:
    <code>${JSON.stringify(reading)}</code>`
}

function drawRejected({ rejected, list }: ListFound): Html {
  const { rows, accepted, duplicates, runDate } = list
  const about =
    runDate === null
      ? 'The list has no runs yet.'
      : html`The run of ${runDate} read ${amount(rows)} lines: ${amount(accepted)} accepted,
        ${amount(duplicates)} merged as duplicates, ${amount(list.rejected)} rejected.`
  const cut =
    (list.rejected ?? 0) > rejected.length
      ? html` The first ${amount(rejected.length)} are shown.`
      : null
  return tableSection(
    {
      id: 'rejected',
      title: 'Rejected lines',
      about: html`${about}${cut}`,
      empty: 'Rejected lines will be shown here, each with the reason.',
    },
    rejected,
    [
      column.number('Line', 'line'),
      column.text('Reason', 'reason'),
      column.text('Text', 'content'),
    ],
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
type ListFound = Awaited<ReturnType<typeof readListPage>>

const cached = storedFigures<ListCoverage | null>(1000)

async function readListPage(db: Database, memory: object, asked: ListAsked) {
  const [list] = await readListFacts(db, asked.list)
  if (list === undefined) throw new NotThere(`There is no list ${asked.list}.`)
  const span = await readSpan(db, asked.span)
  const skip = (asked.sheet - 1) * atOnce
  const members = await readListMembers(db, { ...asked, skip, most: atOnce + 1 })
  return {
    list,
    span,
    days: await readListDays(db, { name: list.name, ...span }, (key, read) =>
      cached(memory, key, read),
    ),
    members: members.slice(0, atOnce),
    more: members.length > atOnce,
    rejected: list.run === null ? [] : await readRejectedLines(db, list.run),
  }
}

export const listPage = definePage({
  path: '/lists/:list',
  area: 'Operations',
  ask: askList,
  read: (reading, asked) => reading.answers((db) => readListPage(db, reading.mill, asked)),
  show: (found, place, asked) => {
    const { list, days, span } = found
    const last = days[0]
    const credits = days.reduce((sum, day) => sum + day.credits, 0)
    return {
      title: list.name,
      lead: html`The list was read from ${given(list.source)}. ${daysText(span, place)}.`,
      body: html`${tiles([
        ['queries now', list.members],
        [
          last === undefined ? 'answered' : `answered on ${last.runDate}`,
          percent(last === undefined ? null : last.answered / last.planned),
        ],
        ['credits in this period', credits],
        ['lines rejected by the newest run', list.rejected],
      ])}
      ${drawCoverage(found, place)} ${drawMembers(found, asked, place)} ${drawRejected(found)}`,
    }
  },
})
