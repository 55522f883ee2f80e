import type { DomainDay } from '../../../../store/analysis/domain-days.ts'
import { html, type Html } from '../../../report/html.ts'
import { lineChart, type Series } from '../../../report/lines.ts'
import { amount, nothing, percent, section, table, tiles } from '../../parts.ts'
import { change } from './change.ts'
import type { DomainFound } from './read.ts'

/** The share and the places of a domain over time, as pictures and in numbers. */
export function drawHoldings(found: DomainFound): Html {
  const days = found.days.filter(({ thin }) => !thin)
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) {
    return nothing(
      'No query was answered in these days; the share of the domain, day by day, would be here.',
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
  ${shareSection(found, days)} ${placesSection(found, days)}`
}

const at = ({ runDate }: DomainDay) => new Date(`${runDate}T00:00:00Z`)
const picture = { grain: 'day', width: 1040, height: 260, named: true, hover: true } as const

function shareSection({ known, days: all, notes }: DomainFound, days: readonly DomainDay[]): Html {
  const thin = all.filter((day) => day.thin).map(({ runDate }) => runDate)
  const greatest = Math.max(0.001, ...days.map(({ share }) => share ?? 0))
  const title = `Share of voice of ${known.domain}, day by day`
  const chart = lineChart({
    ...picture,
    title,
    notes,
    series: [
      { name: known.domain, points: days.map((day) => ({ at: at(day), value: day.share })) },
    ],
    range: [0, greatest * 1.05],
    format: (value) => `${Math.round(value * 1000) / 10} %`,
  })
  const left = thin.length === 0 ? '' : ` Left out, with too few answers: ${thin.join(', ')}.`
  return section(
    {
      id: 'share',
      title: 'Share of voice',
      about: `Share of the clicks that its best places would get, by weight, over all queries.${left}`,
    },
    scrolled(title, chart),
  )
}

const buckets: readonly { name: string; count: (day: DomainDay) => number }[] = [
  { name: '1 to 3', count: ({ top3 }) => top3 },
  { name: '4 to 10', count: ({ top10, top3 }) => top10 - top3 },
  { name: '11 to 20', count: ({ top20, top10 }) => top20 - top10 },
  { name: 'further down', count: ({ ranked, top20 }) => ranked - top20 },
  { name: 'not in', count: ({ queries, ranked }) => queries - ranked },
]

function placesSection({ known, notes }: DomainFound, days: readonly DomainDay[]): Html {
  const series: Series[] = buckets.slice(0, 4).map(({ name, count }) => ({
    name,
    points: days.map((day) => ({ at: at(day), value: count(day) })),
  }))
  const greatest = Math.max(
    1,
    ...series.flatMap(({ points }) => points.map(({ value }) => value ?? 0)),
  )
  const title = `Queries for which ${known.domain} stands at 1 to 3, 4 to 10 and further down, day by day`
  const chart = lineChart({
    ...picture,
    title,
    notes,
    series,
    range: [0, greatest * 1.05],
    format: String,
    ticks: whole(greatest),
  })
  const rows = table(
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
  return section(
    {
      id: 'places',
      title: 'Places',
      about: 'For how many queries its best place is among the first, and further down.',
    },
    html`${scrolled(title, chart)}
      <details id="places-numbers">
        <summary>In numbers</summary>
        ${rows}
      </details>`,
  )
}

/** Numbers of queries are whole. */
function whole(greatest: number): readonly number[] {
  const step = Math.max(1, Math.ceil(greatest / 4))
  return [0, 1, 2, 3, 4].map((n) => n * step).filter((tick) => tick <= greatest * 1.05)
}

function scrolled(name: string, chart: Html): Html {
  return html`<div class="scroll wide" role="region" aria-label="${name}" tabindex="0">
    ${chart}
  </div>`
}
