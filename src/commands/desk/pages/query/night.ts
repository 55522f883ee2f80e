import { readNeighbours } from '../../../../store/analysis/serp.ts'
import { NotThere } from '../../address.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { definePage, inOnePiece, type FilePage, type PagePlace } from '../../page.ts'
import { amount, given, instant, nothing, section, tiles, to } from '../../../drawing/parts.ts'
import { chooser, dayField } from '../choose.ts'
import { askedAs, nightPath, toQuery } from '../ways.ts'
import { readKeptBody } from '../../../../store/analysis/serp.ts'
import { drawBeside } from './beside.ts'
import { expectQuery, readNightAnswer, type NightAnswer } from './read.ts'
import { drawWords, resultTable } from './results.ts'
import type { QueryFacts } from '../../../../store/analysis/query-facts.ts'

/** One night of a query. */
export interface NightFound {
  readonly query: QueryFacts
  readonly day: string
  readonly answer: NightAnswer | null
  /** The day it is laid beside; null: none. */
  readonly beside: string | null
  readonly other: NightAnswer | null
  readonly before: string | null
  readonly after: string | null
}

/** What the answer to a query looked like on a day, alone or beside that of another day. */
export const queryNightPage = definePage({
  path: '/queries/:query/nights/:day',
  ask: (address) => ({
    id: address.uuid('query'),
    day: address.dayPart('day'),
    beside: address.day('beside'),
  }),
  read: (reading, { id, day, beside }) =>
    reading.answers(async (db): Promise<NightFound> => {
      const query = await expectQuery(db, id)
      const answer = await readNightAnswer(db, id, day)
      const other = beside === null ? null : await readNightAnswer(db, id, beside)
      return { query, day, answer, beside, other, ...(await readNeighbours(db, id, day)) }
    }),
  show: (found, place) => ({
    title: `${found.query.q}, ${found.day}`,
    lead: html`${toQuery(place, found.query.id, found.query.q)}, asked as ${askedAs(found.query)};
    ${found.beside === null ? 'the answer of one night' : `two nights side by side: ${found.beside} and ${found.day}`}.`,
    body: html`${ways(found, place)} ${content(found, place)}`,
  }),
})

function content(found: NightFound, place: PagePlace): Html {
  const { answer, other, beside, day } = found
  if (answer === null) return nothingOn(found, day)
  if (beside === null) {
    return html`${facts(found.query.id, answer, place)}
    ${section({ id: 'results', title: 'Results' }, resultTable(answer.results, place))}
    ${besides(answer, place)}`
  }
  if (other === null) return nothingOn(found, beside)
  const [early, late] = beside < day ? [other, answer] : [answer, other]
  return drawBeside(early, late, place)
}

function besides(answer: NightAnswer, place: PagePlace): Html {
  const words = drawWords(answer.words, place)
  return section(
    { id: 'words', title: 'Besides the results' },
    words ??
      nothing('Entities, groups, related searches and blocks of the answer would be here.', null),
  )
}

function nothingOn({ before, after }: NightFound, day: string): Html {
  const near = [before, after].filter((other) => other !== null).join(' and ')
  return nothing(
    `No readable answer of ${day} is shown. ${near === '' ? 'The query has none yet, or none of the kinds that are shown.' : `The nearest ones are of ${near}.`}`,
    null,
  )
}

/** To the nights around it, and to any other beside it. */
function ways({ query, day, before, after, beside, other }: NightFound, place: PagePlace): Html {
  const step = (text: string, date: string | null) =>
    date === null
      ? null
      : html`<li>${to(place.href(nightPath(query.id, date)), `${text} ${date}`)}</li>`
  const alone =
    beside === null || other === null
      ? null
      : html`<li>${to(place.href(nightPath(query.id, day)), `${day} alone`)}</li>`
  return html`<nav class="steps" aria-label="Nights">
      <ul>
        ${step('← before:', before)} ${step('after:', after)} ${alone}
      </ul>
    </nav>
    ${chooser(
      { place, name: 'Two nights side by side' },
      dayField({
        name: 'beside',
        label: 'Beside the night of',
        value: beside ?? before ?? after ?? '',
      }),
      'Side by side',
    )}`
}

const evidences: Readonly<Record<string, string>> = {
  bought: 'bought for this day.',
  reused: 'an older answer used again for this day.',
  'not asked': 'not asked on this day: the last answer stands in.',
}

function facts(query: string, { serp, results }: NightAnswer, place: PagePlace): Html {
  const { call, bytes } = serp
  const body =
    bytes === null
      ? html`<span class="none">not kept</span>`
      : to(place.href(`/queries/${query}/bodies/${call}`), `${amount(bytes).text} bytes`)
  return html`${tiles([
      { value: amount(results.length), text: `results, down to place ${serp.depth}` },
      { value: amount(serp.credits), text: 'credits' },
      { value: given(serp.intent), text: 'intent' },
      { value: given(serp.sentiment), text: 'sentiment' },
      { value: body, text: 'the body as it came, as a file' },
    ])}
    <p class="soft">
      Answered ${instant(serp.fetchedAt, place.zone)}, ${serp.origin};
      ${evidences[serp.evidence] ?? serp.evidence}
    </p>`
}

/** A kept body as it came, byte by byte. */
export const keptBody: FilePage = {
  path: '/queries/:query/bodies/:call',
  send: async (address, reading) => {
    const [query, call] = [address.uuid('query'), address.id('call')]
    const kept = await reading.answers((db) => readKeptBody(db, query, call))
    if (kept === null)
      throw new NotThere('No body of this call is kept: it was pruned, or never came.')
    const json = /^\s*[{[]/.test(kept.body.subarray(0, 64).toString('latin1'))
    return {
      type: json ? 'application/json' : 'application/octet-stream',
      name: `answer-${call}${kept.truncated ? '-truncated' : ''}.${json ? 'json' : 'txt'}`,
      pieces: inOnePiece(kept.body),
    }
  },
}
