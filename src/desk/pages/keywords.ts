// The keyword table: sorted, filtered and paged by the database. Each view has an address and a CSV file.

import { npmRun } from '../../base/cli/commands.ts'
import { type Cell, csvLines } from '../../base/csv.ts'
import type { Database } from '../../base/database/database.ts'
import { devices } from '../../base/query.ts'
import { BadAddress, daysBefore, type PageAddress } from '../address.ts'
import { type Html, html, numberText } from '../drawing/html.ts'
import { amount, command, given, nothing, spark, steps, to, unknown } from '../drawing/parts.ts'
import { table } from '../drawing/tables.ts'
import { definePage, type FilePage, type PagePlace, type DeskReading } from '../page.ts'
import { checkbox, chooser, dayField, moreFields, selectField, textField } from './choose.ts'
import {
  changes,
  chooseDays,
  countKeywords,
  type Keyword,
  type KeywordQuery,
  rankRanges,
  readKeywordDetails,
  readKeywordNames,
  readKeywords,
  sorts,
} from './keywords-read.ts'
import { moved, toQuery } from './ways.ts'

const rowsAtOnce = 50
const sparkDays = 30

interface KeywordColumn {
  readonly head: string
  readonly sort?: KeywordQuery['sort']
  readonly look?: 'n'
  readonly cell: (row: Keyword, place: PagePlace) => Html
  readonly csv: (row: Keyword) => Cell
}

const textColumn = (head: string, csv: (row: Keyword) => string | null) => {
  return { head, cell: (row: Keyword) => given(csv(row)), csv }
}

const numberColumn = (head: string, csv: (row: Keyword) => number | null) => {
  return { head, look: 'n', cell: (row: Keyword) => amount(csv(row)), csv } as const
}

const columns = {
  keyword: {
    head: 'Keyword',
    sort: 'keyword',
    cell: ({ id, q }, place) => toQuery(place, id, q),
    csv: ({ q }) => q,
  },
  rank: {
    head: 'Rank',
    sort: 'rank',
    look: 'n',
    cell: ({ rank, depth }) =>
      rank === null && depth !== null ? html`not in top ${depth}` : amount(rank),
    csv: ({ rank }) => rank,
  },
  change: {
    head: 'Change',
    sort: 'change',
    look: 'n',
    cell: ({ previous, rank, change }) => (change === null ? unknown : moved(previous, rank)),
    csv: ({ previous, rank, change }) =>
      change === null || previous === null || rank === null ? change : previous - rank,
  },
  previous: numberColumn('Before', ({ previous }) => previous),
  day: movedSince('1 day', 'dayBefore'),
  week: movedSince('7 days', 'weekBefore'),
  best: numberColumn('Best in 30 days', ({ history, rank }) => {
    const ranks = [...history, rank].flatMap((one) => one ?? [])
    return ranks.length === 0 ? null : Math.min(...ranks)
  }),
  volume: { ...numberColumn('Volume', ({ volume }) => volume), sort: 'volume' },
  page: textColumn('Ranking page', ({ url }) => url),
  features: textColumn('SERP features', ({ features }) => features.join(', ') || null),
  trend: {
    head: '30 days',
    cell: ({ history }) => spark(history),
    csv: ({ history }) => history.map((rank) => rank ?? '').join(' '),
  },
  tags: textColumn('Tags', ({ labels }) => {
    const tags = labels.filter((label) => !/^(list|device|country|language|place)=/.test(label))
    return tags.join(', ') || null
  }),
  list: textColumn('List', ({ labels }) => {
    const lists = labels.filter((label) => label.startsWith('list='))
    return lists.map((label) => label.slice(5)).join(', ') || null
  }),
  device: textColumn('Device', ({ device }) => device),
  country: textColumn('Country', ({ country }) => country),
  answered: textColumn('Answered', ({ runDate }) => runDate),
} satisfies Record<string, KeywordColumn>

type ColumnName = keyof typeof columns
const columnNames = Object.keys(columns) as readonly ColumnName[]
const usualColumns = 'keyword,rank,change,week,best,volume,page,trend'.split(',')

function movedSince(head: string, before: 'dayBefore' | 'weekBefore'): KeywordColumn {
  return {
    head,
    look: 'n',
    cell: (row) => (row[before] === undefined ? unknown : moved(row[before], row.rank)),
    csv: ({ [before]: then, rank }) =>
      then === null || then === undefined || rank === null ? null : then - rank,
  }
}

type KeywordsAsked = ReturnType<typeof askKeywords>

function askKeywords(address: PageAddress) {
  const sort = address.word('sort', sorts)
  const order = address.word('order', [
    sort === 'rank' || sort === 'keyword' ? 'up' : 'down',
    'up',
    'down',
  ])
  const labels = ['list', 'device', 'country'].flatMap((name) => {
    const text = address.text(name)
    return text === null ? [] : `${name}=${text}`
  })
  const shown = address.texts('column').flatMap((text) => text.split(','))
  const wrong = shown.find((name) => !columnNames.some((column) => column === name))
  if (wrong !== undefined) {
    throw new BadAddress(
      `column: expected one or more of ${columnNames.join(', ')}, got ${JSON.stringify(wrong)}.`,
    )
  }
  return {
    query: {
      word: address.text('word'),
      labels: [...address.texts('tag').flatMap((tags) => tags.split(',')), ...labels],
      ranks: address.text('rank') === null ? null : address.word('rank', rankRanges),
      change: address.text('change') === null ? null : address.word('change', changes),
      feature: address.text('feature'),
      rival: address.text('rival'),
      sort,
      descending: order === 'down',
    } satisfies KeywordQuery,
    day: address.day('day'),
    since: address.day('since'),
    sheet: address.whole('sheet', { fallback: 1, most: 100_000 }),
    shown: columnNames.filter(
      (name) => name === 'keyword' || (shown.length === 0 ? usualColumns : shown).includes(name),
    ),
  }
}

type KeywordsFound = NonNullable<Awaited<ReturnType<typeof readPage>>>

async function readPage(db: Database, { query, sheet, ...asked }: KeywordsAsked) {
  const days = await chooseDays(db, asked)
  if (days === null) return null
  const page = { ...query, limit: rowsAtOnce, offset: (sheet - 1) * rowsAtOnce }
  const rows = await readKeywords(db, days, page)
  return {
    days,
    rows: await readKeywordDetails(db, rows, days.stored.slice(0, sparkDays)),
    count: rows[0]?.count ?? (await countKeywords(db, days, query)),
    names: await readKeywordNames(db),
  }
}

export const keywordsPage = definePage({
  path: '/keywords',
  nav: 'Keywords',
  ask: askKeywords,
  read: (reading, asked) => reading.answers((db) => readPage(db, asked)),
  show: (found, place, asked) => {
    const title = 'Keywords'
    if (found === null) {
      const lead = 'Every keyword in your lists, with its rank day by day.'
      return { title, lead, body: noKeywords }
    }
    const body = html`${form(found, asked, place)} ${drawRows(found, asked, place)}`
    return { title, lead: leadOf(found, asked, place), body }
  },
})

const noKeywords = nothing(
  'No list has been read. Keywords will be listed here with their rank, change, volume and ranking page.',
  npmRun('enqueue inputs/keywords.csv'),
)

function leadOf(
  { days, count, names }: KeywordsFound,
  { query }: KeywordsAsked,
  place: PagePlace,
): Html {
  const { now, before } = days
  const since = (text: string, day: string | null) =>
    to(place.href('/keywords', { ...again(place), since: day, sheet: null }), text)
  const own = names.ours
    ? null
    : html` No domain is marked as yours yet, so no keyword has a rank. To mark one:
      ${command(`${npmRun('domains --')} set example.com`)}`
  return html`${numberText(count)} ${count === 1 ? 'keyword' : 'keywords'} as of ${now.day},
  ${query.change === null ? 'compared with' : 'changed since'} ${before.day}
  (${since('the day before', null)}, ${since('a week before', daysBefore(now.day, 7))}).${own}`
}

function again({ filters }: PagePlace): Record<string, string> {
  return Object.fromEntries(
    [...filters.keys()].map((name) => [name, filters.getAll(name).join(',')]),
  )
}

const changeWords = [
  ['up', 'up'],
  ['down', 'down'],
  ['entered', 'entered the results'],
  ['left', 'left the results'],
  ['same', 'unchanged'],
  ['any', 'any change'],
] as const

function form({ days, names }: KeywordsFound, { shown }: KeywordsAsked, place: PagePlace): Html {
  const folded = ['tag', 'device', 'rival', 'feature', 'country']
  const boxes = columnNames
    .slice(1)
    .map((value) =>
      checkbox({ name: 'column', value, checked: shown.includes(value) }, columns[value].head),
    )
  return chooser({ place, name: 'Which keywords', keep: ['sort', 'order'] }, [
    textField('word', 'Text'),
    selectField('list', 'List', { words: names.lists }),
    selectField('rank', 'Rank', { words: rankRanges }),
    selectField('change', 'Change', { words: changeWords }),
    dayField('day', 'On', days.now.day),
    dayField('since', 'Since', days.before.day),
    moreFields(
      'More filters',
      folded.some((name) => place.filters.has(name)),
      [
        textField('tag', 'Tag'),
        selectField('device', 'Device', { words: devices }),
        selectField('rival', 'Competitor ranks', { words: names.rivals }),
        textField('feature', 'SERP feature'),
        textField('country', 'Country'),
      ],
    ),
    () =>
      html`<details class="narrow">
        <summary>Columns</summary>
        ${boxes}
      </details>`,
  ])
}

function drawRows(
  { rows, count }: KeywordsFound,
  { query, shown, sheet }: KeywordsAsked,
  place: PagePlace,
): Html {
  if (rows.length === 0) return nothing('No keywords match. Remove one of the filters.', null)
  const here = again(place)
  const sorting = (sort: KeywordQuery['sort']) => {
    const sorted = sort === query.sort
    const down = sorted ? !query.descending : sort === 'volume' || sort === 'change'
    const order = query.descending ? ('descending' as const) : ('ascending' as const)
    return {
      href: place.href('/keywords', { ...here, sort, order: down ? 'down' : 'up', sheet: null }),
      order: sorted ? order : null,
    }
  }
  const drawn = shown.map((name) => {
    const { sort, cell, look, head }: KeywordColumn = columns[name]
    const drawCell = (row: Keyword) => cell(row, place)
    return { head, look, cell: drawCell, sorting: sort === undefined ? null : sorting(sort) }
  })
  const sheets = Math.ceil(count / rowsAtOnce)
  const way = (text: string, nth: number) =>
    nth < 1 || nth > sheets ? null : to(place.href('/keywords', { ...here, sheet: nth }), text)
  return html`<section id="keywords" aria-label="Keywords">
    ${table('Keywords, one per row', rows, drawn)}
    ${steps('Pages of keywords', [
      way('← Previous', sheet - 1),
      html`Page ${amount(sheet)} of ${amount(sheets)}`,
      way('Next →', sheet + 1),
      to(place.href('/keywords/rows.csv', { ...here, sheet: null }), 'All keywords as CSV'),
    ])}
  </section>`
}

const detailsAtOnce = 1_000

/** A file with all rows of the view, in the same order and with the same columns. */
export const keywordsFile: FilePage = {
  path: '/keywords/rows.csv',
  send: async (address, reading) => {
    return { name: 'keywords.csv', pieces: lines(reading, askKeywords(address)) }
  },
}

async function* lines(
  reading: DeskReading,
  { query, shown, ...asked }: KeywordsAsked,
): AsyncGenerator<string> {
  yield csvLines([shown.map((name) => columns[name].head)])
  const found = await reading.answers(async (db) => {
    const days = await chooseDays(db, asked)
    return days === null ? null : { days, rows: await readKeywords(db, days, query) }
  })
  if (found === null) return
  const { rows } = found
  const history = found.days.stored.slice(0, sparkDays)
  for (let from = 0; from < rows.length; from += detailsAtOnce) {
    const some = rows.slice(from, from + detailsAtOnce)
    const part = await reading.answers((db) => readKeywordDetails(db, some, history))
    yield csvLines(part.map((row) => shown.map((name) => columns[name].csv(row))))
  }
}
