// List pages: contents, answers and cost.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import { type Expression, expressionBuilder, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { DaySpan } from '../../base/time/zone.ts'
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
  const members = await readListMembers(db, asked)
  return {
    list,
    span,
    days: await readListDays(db, { memory, name: list.name, ...span }),
    members: members.slice(0, atOnce),
    more: members.length > atOnce,
    rejected: await db
      .selectFrom('rejected_lines')
      .select(['line', 'reason', 'content'])
      .where('run_id', '=', list.run)
      .orderBy('line')
      .limit(200)
      .execute(),
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

/** Reads a list's queries, highest weight first, followed by queries that are no longer in the list. */
function readListMembers(db: Database, { list, word, tag, respelled, sheet }: ListAsked) {
  return db
    .selectFrom('list_queries as members')
    .innerJoin('queries', 'queries.id', 'members.query_id')
    .select(['queries.id', 'queries.q', 'members.weight', 'members.priority', 'members.tags'])
    .select(['members.target_url as target', 'members.given'])
    .select(({ fn }) =>
      fn<string>('analysis.variant', [
        ...(['queries.device', 'queries.location', 'queries.hl', 'queries.gl'] as const),
        'queries.num',
      ]).as('variant'),
    )
    .select((eb) =>
      eb('members.last_seen', '=', newestReading(eb.val(list)))
        .$castTo<boolean>()
        .as('current'),
    )
    .where('members.list_id', '=', list)
    .$if(word !== null, (members) =>
      members.where(sql<boolean>`strpos(lower(queries.q), lower(${word})) > 0`),
    )
    .$if(tag !== null, (members) =>
      members.where((eb) => eb(eb.val(tag ?? ''), '=', eb.fn.any('members.tags'))),
    )
    .$if(respelled, (members) => members.where('members.given', 'is not', null))
    .orderBy('current', 'desc')
    .orderBy('members.weight', (order) => order.desc().nullsLast())
    .orderBy('queries.q')
    .orderBy('queries.id')
    .limit(atOnce + 1)
    .offset((sheet - 1) * atOnce)
    .execute()
}

type ListFacts = Awaited<ReturnType<typeof readListFacts>>[number]

/** Reads all lists, or one list, with their newest runs. */
export function readListFacts(db: Database, only: number | null) {
  return db
    .selectFrom('lists')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('runs')
          .selectAll()
          .whereRef('runs.list_id', '=', 'lists.id')
          .orderBy('runs.run_date', 'desc')
          .orderBy('runs.id', 'desc')
          .limit(1)
          .as('newest'),
      (join) => join.onTrue(),
    )
    .select(['lists.id', 'lists.name', 'lists.source', 'lists.budget'])
    .select(['newest.id as run', 'newest.run_date as runDate', 'newest.rows', 'newest.accepted'])
    .select(['newest.duplicates', 'newest.rejected', 'newest.state'])
    .select((eb) => [
      eb.ref('lists.reading').$castTo<Readonly<Record<string, unknown>> | null>().as('reading'),
      eb
        .selectFrom('list_queries')
        .select(({ fn }) => fn.countAll<number>().as('members'))
        .whereRef('list_queries.list_id', '=', 'lists.id')
        .where('list_queries.last_seen', '=', newestReading(eb.ref('lists.id')))
        .$asScalar()
        .$notNull()
        .as('members'),
      eb.fn
        .coalesce(
          eb
            .selectFrom('runs')
            .select(({ fn }) => fn.sum<number>('runs.spent').as('spent'))
            .whereRef('runs.list_id', '=', 'lists.id')
            .where('runs.run_date', '>', sql<string>`current_date - 30`),
          eb.lit(0),
        )
        .as('credits'),
    ])
    .where((eb) =>
      only === null ? eb('lists.forgotten_at', 'is', null) : eb('lists.id', '=', only),
    )
    .orderBy('lists.name')
    .execute()
}

/** Selects the time at which a list was last read. */
export function newestReading(list: Expression<number>) {
  return expressionBuilder<DB>()
    .selectFrom('list_queries as others')
    .select(({ fn }) => fn.max('others.last_seen').as('last_seen'))
    .where('others.list_id', '=', list)
}

interface ListCoverage {
  readonly planned: number
  readonly answered: number
  readonly bought: number
  readonly reused: number
  readonly notAsked: number
  readonly failed: number
  readonly unknown: number
  readonly open: number
  /** Queries whose answer is unreadable, suspect or hidden, and unaffordable or cancelled queries. */
  readonly others: number
}

interface ListDay extends ListCoverage {
  /** The list's newest run on that day. */
  readonly run: number | null
  readonly runDate: string
  readonly credits: number
}

/** Reads a list's daily coverage and cost, newest first. Coverage of stored days is cached while `memory` exists. */
export async function readListDays(
  db: Database,
  { memory, name, since, until }: DaySpan & { readonly memory: object; readonly name: string },
) {
  type RunDay = Omit<ListDay, keyof ListCoverage> & { readonly version: string | null }
  const rows = await readRows<RunDay>(db, 'read_list_days', { name, since, until })
  const days: ListDay[] = []
  for (const { version, ...day } of rows) {
    const key = version === null ? null : JSON.stringify([version, name, day.runDate])
    const coverage = await cached(memory, key, async () => {
      const parameters = { name, day: day.runDate }
      return (await readRows<ListCoverage>(db, 'read_list_coverage', parameters))[0] ?? null
    })
    if (coverage !== null) days.push({ ...day, ...coverage })
  }
  return days
}
