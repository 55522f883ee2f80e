// The page for a query on one night, or on two nights side by side.

import type { Database } from '../../base/database/database.ts'
import type { NotNull } from '../../base/database/kysely.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import { groupBy } from '../../base/query.ts'
import { NotThere } from '../address.ts'
import { type Html, html, link } from '../drawing/html.ts'
import {
  amount,
  badge,
  facts,
  given,
  instant,
  lines,
  nothing,
  section,
  steps,
  tiles,
  to,
} from '../drawing/parts.ts'
import { column, table } from '../drawing/tables.ts'
import { definePage, type FilePage, type PagePlace } from '../page.ts'
import { chooser, dayField } from './choose.ts'
import { askedAs, moved, toDomain, toNight, toPage, toQuery } from './ways.ts'

export const queryNightPage = definePage({
  path: '/queries/:query/nights/:day',
  area: 'Keywords',
  ask: (address) => ({
    id: address.uuid('query'),
    day: address.dayPart('day'),
    beside: address.day('beside'),
  }),
  read: (reading, asked) => reading.answers((db) => readNight(db, asked)),
  show: (found, place) => ({
    title: `${found.query.q}, ${found.day}`,
    lead: html`${toQuery(place, found.query.id, found.query.q)}, asked as ${askedAs(found.query)};
    ${found.beside === null ? "one night's answer" : `two nights side by side: ${found.beside} and ${found.day}`}.`,
    body: html`${ways(found, place)} ${content(found, place)}`,
  }),
})

type NightFound = Awaited<ReturnType<typeof readNight>>

async function readNight(
  db: Database,
  { id, day, beside }: { id: string; day: string; beside: string | null },
) {
  const query = await expectQuery(db, id)
  const answer = await readNightAnswer(db, id, day)
  const other = beside === null ? null : await readNightAnswer(db, id, beside)
  // The nearest days with an answer, before and after this day.
  type Days = Readonly<Record<'before' | 'after', string | null>>
  const near = only(await readRows<Days>(db, 'read_neighbour_days', { day, query: id }))
  return { query, day, answer, beside, other, ...near }
}

type NightAnswer = NonNullable<Awaited<ReturnType<typeof readNightAnswer>>>

export async function expectQuery(db: Database, id: string) {
  const query = await db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num', 'device'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (query === undefined) throw new NotThere('No list contains this query.')
  return query
}

interface Serp {
  readonly runDate: string
  readonly search: number
  readonly call: number
  readonly depth: number
  readonly evidence: string
  readonly fetchedAt: Date
  readonly origin: string
  readonly intent: string | null
  readonly sentiment: string | null
  readonly credits: number | null
  /** Size of the body as received, or null if it is no longer stored. */
  readonly bytes: number | null
}

/** Text in an answer that does not belong to a result. */
interface SerpWords {
  readonly kind: 'entity' | 'group' | 'related' | 'block'
  readonly ordinal: number
  readonly text: string
  /** Type of the entity, or kind of the block. */
  readonly type: string | null
  /** Id of the query with the same text as the related search, or null if no such query exists. */
  readonly query: string | null
}

type SerpResult = NightAnswer['results'][number]

/** Reads the answer to a query on a day, or returns null if no answer is shown. */
export async function readNightAnswer(db: Database, query: string, day: string) {
  const [serp] = await readRows<Serp>(db, 'read_serp', { query, day })
  if (serp === undefined) return null
  const { search } = serp
  const results = await db
    .selectFrom('result_domains as shown')
    .leftJoin('pages', 'pages.id', 'shown.page_id')
    .select(['shown.ordinal', 'shown.position', 'shown.title', 'shown.snippet', 'pages.url'])
    .select(['shown.page_id as page', 'shown.url_key as pageKey', 'shown.domain'])
    .where('shown.search_id', '=', search)
    .orderBy('shown.ordinal')
    .$narrowType<{ ordinal: NotNull }>()
    .execute()
  return { serp, results, words: await readRows<SerpWords>(db, 'read_serp_words', { search }) }
}

function content(found: NightFound, place: PagePlace): Html {
  const { query, answer, other, beside, day } = found
  if (answer === null) return nothingOn(found, day)
  if (beside !== null) {
    if (other === null) return nothingOn(found, beside)
    return beside < day ? drawBeside(other, answer, place) : drawBeside(answer, other, place)
  }
  const words =
    drawWords(answer.words, place) ??
    nothing('The answer contains no entities, groups, related searches or blocks.')
  return html`${summary(query.id, answer, place)}
  ${section({ id: 'results', title: 'Results' }, resultTable(answer.results, place))}
  ${section(otherParts, words)}`
}

const otherParts = { id: 'words', title: 'Other parts of the answer' }

function nothingOn({ before, after }: NightFound, day: string): Html {
  const near = [before, after].filter((other) => other !== null).join(' and ')
  const text =
    near === ''
      ? 'The query has no answer yet, or no answer from an origin that is shown.'
      : `The nearest answers are from ${near}.`
  return nothing(`There is no readable answer from ${day} to show. ${text}`)
}

function ways({ query, day, before, after, beside, other }: NightFound, place: PagePlace): Html {
  const step = (date: string | null, text: string) =>
    date === null ? null : toNight(place, query.id, { day: date, text })
  return html`${steps('Nights', [
    step(before, `← earlier: ${before}`),
    step(after, `later: ${after}`),
    beside === null || other === null ? null : step(day, `${day} alone`),
  ])}
  ${chooser(
    { place, name: 'Two nights side by side' },
    [dayField('beside', 'Compare with the night of', beside ?? before ?? after ?? '')],
    'Side by side',
  )}`
}

const evidences: Readonly<Record<string, string>> = {
  bought: 'bought for this day.',
  reused: 'an older answer was reused for this day.',
  'not asked': 'not asked on this day, so the last answer is used.',
}

function summary(query: string, { serp, results }: NightAnswer, place: PagePlace): Html {
  const { call, bytes } = serp
  const body =
    bytes === null
      ? html`<span class="none">not stored</span>`
      : to(place.href(`/queries/${query}/bodies/${call}`), `${amount(bytes).text} bytes`)
  return html`${tiles([
      [`results, down to position ${serp.depth}`, results.length],
      ['credits', serp.credits],
      ['intent', given(serp.intent)],
      ['sentiment', given(serp.sentiment)],
      ['response body as a file', body],
    ])}
    <p class="soft">
      Answered ${instant(serp.fetchedAt, place.zone)}, ${serp.origin};
      ${evidences[serp.evidence] ?? serp.evidence}
    </p>`
}

export const keptBody: FilePage = {
  path: '/queries/:query/bodies/:call',
  send: async (address, reading) => {
    const [query, call] = [address.uuid('query'), address.id('call')]
    const kept = await reading.answers((db) =>
      db
        .selectFrom('raw_answers')
        .innerJoin('calls', 'calls.id', 'raw_answers.call_id')
        .select(['raw_answers.body', 'raw_answers.truncated'])
        .where('raw_answers.call_id', '=', call)
        .where('calls.query_id', '=', query)
        .executeTakeFirst(),
    )
    if (kept === undefined)
      throw new NotThere(
        'The body of the response is not stored, because it was pruned or was never received.',
      )
    const json = /^\s*[{[]/.test(kept.body.subarray(0, 64).toString('latin1'))
    return {
      type: json ? 'application/json' : 'application/octet-stream',
      name: `answer-${call}${kept.truncated ? '-truncated' : ''}.${json ? 'json' : 'txt'}`,
      pieces: kept.body,
    }
  },
}

function drawBeside(early: NightAnswer, late: NightAnswer, place: PagePlace): Html {
  const changes = compare(early, late)
  const count = (kind: SerpChange['kind']) => changes.filter((one) => one.kind === kind).length
  const head = ({ serp }: NightAnswer) => `${serp.runDate} to position ${serp.depth}`
  const cell = (result: SerpResult | null, isLate: boolean) =>
    side(result, changes, { place, isLate })
  const same =
    early.serp.search === late.serp.search
      ? nothing('Both days use the same answer, so nothing changed between them.')
      : null
  return html`${same}
  ${tiles([
    ['entered', count('came')],
    ['left', count('went')],
    ['moved', count('moved')],
    ['retitled', changes.filter(({ retitled }) => retitled).length],
  ])}
  ${section(
    {
      id: 'beside',
      title: `${early.serp.runDate} and ${late.serp.runDate}`,
      about:
        'The answers are compared position by position. A page counts as entered or left only if the other answer is deep enough to include its position.',
    },
    table('Two nights side by side', placesOf(early, late), [
      column.number('Position', 'position'),
      column.plain(head(early), ({ left }) => cell(left, false)),
      column.plain(head(late), ({ right }) => cell(right, true)),
    ]),
  )}
  ${section(otherParts, wordChanges(early, late))}`
}

/** Builds one row per position. Several results with the same position, or without a position, get separate rows. */
function placesOf(early: NightAnswer, late: NightAnswer) {
  const before = groupBy(early.results, ({ position }) => position)
  const now = groupBy(late.results, ({ position }) => position)
  return [...new Set([...before.keys(), ...now.keys()])]
    .toSorted((a, b) => (a ?? Infinity) - (b ?? Infinity))
    .flatMap((position) => {
      const [left = [], right = []] = [before.get(position), now.get(position)]
      const rows = Array.from({ length: Math.max(left.length, right.length) })
      return rows.map((_, n) => ({ position, left: left[n] ?? null, right: right[n] ?? null }))
    })
}

/** Marks results that left (in the earlier answer) or that entered, moved or were retitled (in the later answer). */
function side(
  result: SerpResult | null,
  changes: readonly SerpChange[],
  { place, isLate }: { place: PagePlace; isLate: boolean },
): Html | null {
  if (result === null) return null
  const change = changes.find((one) => (isLate ? one.now : one.before) === result)
  return html`${mark(change, isLate)} ${titleOf(result)}
    <p class="snippet">${toDomain(place, result.domain)}</p>
    ${isLate && change?.retitled === true ? retitled(change) : null}`
}

const retitled = ({ before }: SerpChange) =>
  html`<p class="snippet soft">
    <span class="warn">retitled</span>, previously: <del>${given(before?.title ?? null)}</del>
  </p>`

function mark(change: SerpChange | undefined, isLate: boolean): Html | null {
  if (change === undefined) return html`<span class="soft mark-change">also there</span>`
  const { kind, before, now } = change
  if (kind !== 'unsure' && kind !== 'went' && !isLate) return null
  const deep = `below the depth of the ${isLate ? 'earlier' : 'later'} answer`
  const text =
    kind === 'unsure'
      ? html`<span class="soft">${deep}</span>`
      : moved(before?.position ?? null, isLate ? (now?.position ?? null) : null)
  return html`<span class="mark-change">${text}</span>`
}

function wordChanges(early: NightAnswer, late: NightAnswer): Html {
  const names = ({ words }: NightAnswer) => [
    ...new Set(
      words.map(({ kind, type, text }) => `${kind}: ${[type, text].filter(Boolean).join(' ')}`),
    ),
  ]
  const [old, fresh] = [names(early), names(late)]
  const came = fresh.filter((name) => !old.includes(name))
  const went = old.filter((name) => !fresh.includes(name))
  if (came.length + went.length === 0)
    return nothing('Entities, groups, related searches and blocks are the same in both answers.')
  return wordFacts([
    ['Entered', came.map(given)],
    ['Left', went.map(given)],
  ])
}

type SerpChange = ReturnType<typeof compare>[number]

/** A result counts as entered or left only if the other answer was deep enough to show its position. */
function compare(early: NightAnswer, late: NightAnswer) {
  const [old, fresh] = [bestOfEach(early.results), bestOfEach(late.results)]
  return [...new Set([...fresh.keys(), ...old.keys()])].map((key) => {
    const [before, now] = [old.get(key) ?? null, fresh.get(key) ?? null]
    if (before !== null && now !== null) {
      const kind = before.position === now.position ? 'stayed' : 'moved'
      return { before, now, kind, retitled: before.title !== now.title } as const
    }
    const { depth } = (now === null ? late : early).serp
    const sure = ((now ?? before)?.position ?? Infinity) <= depth
    const kind = !sure ? 'unsure' : now === null ? 'went' : 'came'
    return { before, now, kind, retitled: false } as const
  })
}

/** Maps each page to its best result. A result without an address is identified by its title. */
function bestOfEach(results: readonly SerpResult[]): ReadonlyMap<string, SerpResult> {
  const fromWorst = results.toSorted(
    (a, b) => (b.position ?? Infinity) - (a.position ?? Infinity) || b.ordinal - a.ordinal,
  )
  return new Map(fromWorst.map((one) => [one.pageKey ?? `title ${one.title ?? ''}`, one]))
}

export function resultTable(results: readonly SerpResult[], place: PagePlace): Html {
  if (results.length === 0) return nothing('The answer has no results.')
  return table('Results by position', results, [
    column.number('Position', 'position'),
    column.plain(
      'Result',
      (result) =>
        html`${titleOf(result)}
          <p class="snippet">
            ${toDomain(place, result.domain)} · ${toPage(place, result.page, result.pageKey)}
          </p>
          <p class="snippet soft" dir="auto">${result.snippet}</p>`,
    ),
  ])
}

/** Renders a title, or the address of a result without a title. The text is a link if the address is a web address. */
function titleOf({ title, url }: Pick<SerpResult, 'title' | 'url'>): Html {
  const text = title === null || title.trim() === '' ? (url ?? '(without a title)') : title
  return html`<bdi class="given" dir="auto">${link(url, text)}</bdi>`
}

export function drawWords(words: readonly SerpWords[], place: PagePlace): Html | null {
  if (words.length === 0) return null
  const kinds = [
    ['block', 'Other blocks'],
    ['entity', 'Entities'],
    ['group', 'Groups'],
    ['related', 'Related searches'],
  ] as const
  const chip = ({ text, type, query }: SerpWords) => {
    const shown = query === null ? given(text) : toQuery(place, query, text)
    return html`${type === null ? null : html`${badge(type, 'soft')} `}${text === '' ? null : shown}`
  }
  return wordFacts(
    kinds.map(([kind, head]) => [head, words.filter((word) => word.kind === kind).map(chip)]),
  )
}

function wordFacts(shown: readonly (readonly [head: string, chips: readonly Html[]])[]): Html {
  const known = shown.filter(([, chips]) => chips.length > 0)
  return facts(
    known.map(([head, chips]) => [head, lines(chips, 'chips')]),
    'facts words',
  )
}
