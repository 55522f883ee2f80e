import { dayOf } from '../../../../shared/time/zone.ts'
import type { DomainDay } from '../../../../store/analysis/domain-days.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { Series } from '../../../drawing/lines.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import { amount, nothing, percent, section, table, tiles } from '../../../drawing/parts.ts'
import type { Note } from '../../../../store/analysis/notes.ts'
import type { SuspectRun } from '../../../../store/analysis/ranks.ts'
import type { PagePlace } from '../../page.ts'
import { change } from '../../../drawing/change.ts'
import { dayPicture, drawShares, suspectBands } from './shares.ts'

/** What a domain, or a page, held over some days. */
export interface Holdings {
  readonly name: string
  readonly days: readonly DomainDay[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
}

/** The share and the places of a domain or a page over time, as pictures and in numbers. */
export function drawHoldings(found: Holdings, place: PagePlace): Html {
  const days = found.days.filter(({ thin }) => !thin)
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) {
    return nothing(
      'No query was answered in these days; its share, day by day, would be here.',
      'npm run enqueue inputs/keywords.csv',
    )
  }
  return html`${tiles([
    { value: percent(last.share), text: `share of voice on ${last.runDate}` },
    {
      value: change((last.share ?? 0) - (first.share ?? 0)),
      text: `points since ${first.runDate}`,
    },
    { value: amount(last.ranked), text: `queries with a place, of ${last.queries}` },
    { value: amount(last.top3), text: 'of these at 1 to 3' },
  ])}
  ${drawShares(
    { ...found, shares: found.days.map((day) => ({ ...day, domain: found.name })) },
    {
      picture: `Share of voice of ${found.name}, day by day`,
      about: 'Share of the clicks that its best places would get, by weight.',
    },
    place,
  )}
  ${drawPlaces(found, days, place)}`
}

const at = ({ runDate }: DomainDay) => dayOf(runDate)

const buckets: readonly { name: string; count: (day: DomainDay) => number }[] = [
  { name: '1 to 3', count: ({ top3 }) => top3 },
  { name: '4 to 10', count: ({ top10, top3 }) => top10 - top3 },
  { name: '11 to 20', count: ({ top20, top10 }) => top20 - top10 },
  { name: 'further down', count: ({ ranked, top20 }) => ranked - top20 },
  { name: 'not in', count: ({ queries, ranked }) => queries - ranked },
]

function drawPlaces(
  { name: whose, notes, suspect }: Holdings,
  days: readonly DomainDay[],
  place: PagePlace,
): Html {
  const series: Series[] = buckets.slice(0, 4).map(({ name, count }) => ({
    name,
    points: days.map((day) => ({ at: at(day), value: count(day) })),
  }))
  const greatest = Math.max(
    1,
    ...series.flatMap(({ points }) => points.map(({ value }) => value ?? 0)),
  )
  const title = `Queries for which ${whose} stands at 1 to 3, 4 to 10 and further down, day by day`
  const picture = drawPicture({
    title,
    notes,
    bands: suspectBands(suspect, place),
    series,
    range: [0, greatest * 1.05],
    format: String,
    ...dayPicture,
    ticks: whole(greatest),
  })
  return section(
    {
      id: place.id('places'),
      title: 'Places',
      about: 'For how many queries its best place is among the first, and further down.',
    },
    html`${picture}
      <details id="${place.id('places-numbers')}">
        <summary>In numbers</summary>
        ${placeTable(days)}
      </details>`,
  )
}

function placeTable(days: readonly DomainDay[]): Html {
  return table(
    'Places in numbers',
    [
      { head: 'Day', word: true, cell: ({ runDate }) => runDate },
      { head: 'Share', number: true, cell: ({ share }) => percent(share) },
      ...buckets.map(({ name, count }) => ({
        head: name,
        number: true as const,
        cell: (day: DomainDay) => amount(count(day)),
      })),
      { head: 'Queries', number: true, cell: ({ queries }) => amount(queries) },
    ],
    days.toReversed(),
  )
}

/** Numbers of queries are whole. */
function whole(greatest: number): readonly number[] {
  const step = Math.max(1, Math.ceil(greatest / 4))
  return [0, 1, 2, 3, 4].map((n) => n * step).filter((tick) => tick <= greatest * 1.05)
}
