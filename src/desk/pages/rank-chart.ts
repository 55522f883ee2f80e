// Draws the rank chart of a query: positions by day.

import { npmRun } from '../../base/cli/commands.ts'
import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { dayOf } from '../../base/time/zone.ts'
import { type Html, html } from '../drawing/html.ts'
import { figuresLink, noteMarks, timeLabels, timeScale } from '../drawing/lines.ts'
import { amount, given, nothing, scrolled, section, table, to } from '../drawing/parts.ts'
import type { PagePlace } from '../page.ts'
import { chooser, dayFields, textField } from './choose.ts'
import type { QueryFound } from './query-read.ts'
import { nightPath, toDomain } from './ways.ts'

interface ChartDay {
  readonly at: Date
  readonly runDate: string
  /** Null if no answer is shown for the day. */
  readonly evidence: string | null
  /** Why none is shown; null if one is. */
  readonly silence: string | null
  readonly depth: number | null
}

const size = { width: 1040, height: 340, left: 52, right: 12, top: 16, bottom: 28 }

/** Days of a query, one entry each, oldest first; of several runs, the one with an answer is used. */
function daysOf({ days }: Pick<QueryFound, 'days'>): readonly ChartDay[] {
  const found = new Map<string, ChartDay>()
  for (const { runDate, evidence, silence, depth } of days) {
    const known = found.get(runDate)
    if (known !== undefined && (known.evidence !== null || silence !== null)) continue
    const told = silence === null ? null : (words[silence] ?? 'asked, not answered')
    found.set(runDate, { at: dayOf(runDate), runDate, evidence, silence: told, depth })
  }
  return [...found.values()].toReversed()
}

const words: Readonly<Record<string, string>> = {
  suspect: 'answered in a suspect night, left out',
  unreadable: 'answered, not readable',
  hidden: 'answered, of a kind that is not shown',
  archived: 'answered, in the archive',
  open: 'not answered yet',
  unaffordable: 'not asked, the budget was used up',
  cancelled: 'not asked, the run was cancelled',
}

interface Spot {
  readonly day: ChartDay
  /** Null: not in the answer. */
  readonly position: number | null
}

/** Draws positions over time: the first at the top, "not in it" below the last, gaps for days without an answer. */
function rankChart(found: QueryFound, title: string): Html {
  const days = daysOf(found)
  const deepest = Math.max(10, ...found.ranks.map(({ position }) => position))
  const out = deepest * 1.12 + 0.5
  const times = days.map(({ at }) => at.getTime())
  const span = { grain: 'day', times, range: [size.left, size.width - size.right] } as const
  const x = timeScale(span)
  const y = scaleLinear()
    .domain([0.5, out])
    .range([size.top, size.height - size.bottom])
  const bottom = size.height - size.bottom
  const ticks = [1, ...[3, 5, 10, 20, 50, 100].filter((tick) => tick <= deepest)]
  return html`<svg
    class="ranks"
    viewBox="0 0 ${size.width} ${size.height}"
    role="img"
    aria-label="${title}"
  >
    <title>${title}</title>
    ${ticks.map((tick) => gridLine(y(tick), String(tick)))} ${gridLine(y(out), 'not in')}
    ${timeLabels(span, x).map(
      ({ at, text }) =>
        html`<text class="tick" x="${edge(at)}" y="${size.height - 8}" text-anchor="middle"
          >${text}</text
        >`,
    )}
    ${days.map((day) => (day.silence === null ? null : silentLine(day, x(day.at))))}
    ${noteMarks(found.notes, { x, top: size.top, bottom, within: [Math.min(...times), Math.max(...times)] })}
    ${found.shown.map(({ domain }, index) =>
      drawLine(
        { domain, index, spots: spotsOf(domain, days, found) },
        { x, y: (spot) => y(spot.position ?? out) },
      ),
    )}
  </svg>`
}

function silentLine({ runDate, silence }: ChartDay, at: number): Html {
  const [top, bottom] = [size.top, size.height - size.bottom]
  return html`<line
    class="unanswered"
    x1="${round(at)}"
    x2="${round(at)}"
    y1="${top}"
    y2="${bottom}"
    ><title>${runDate}: ${silence}</title></line
  >`
}

function spotsOf(
  domain: string,
  days: readonly ChartDay[],
  { ranks }: QueryFound,
): readonly Spot[] {
  const own = ranks.filter((rank) => rank.domain === domain)
  const places = new Map(own.map((rank) => [rank.runDate, rank.position]))
  return days.map((day) => ({ day, position: places.get(day.runDate) ?? null }))
}

function drawLine(
  { domain, index, spots }: { domain: string; index: number; spots: readonly Spot[] },
  { x, y }: { x: (at: Date) => number; y: (spot: Spot) => number },
): Html {
  const draw = line<Spot>()
    .defined(({ day }) => day.evidence !== null)
    .x(({ day }) => round(x(day.at)))
    .y((spot) => round(y(spot)))
  // Shown by a script on hover.
  const told = spots
    .filter(({ day }) => day.evidence !== null)
    .map((spot) => [
      round(x(spot.day.at)),
      round(y(spot)),
      `${spot.day.runDate}: ${placeWords(spot)}`,
    ])
  return html`<g
    class="series c${index % 8}"
    data-name="${domain}"
    data-points="${JSON.stringify(told)}"
    ><title>${domain}</title><path d="${draw([...spots]) ?? ''}" />${spots
      .filter(({ day }) => day.evidence !== null)
      .map(
        (spot) =>
          html`<circle
            class="${spot.day.evidence === 'bought' ? 'spot' : 'spot reused'}"
            cx="${round(x(spot.day.at))}"
            cy="${round(y(spot))}"
            r="3.2"
            ><title>${domain}, ${spot.day.runDate}: ${placeWords(spot)}</title></circle
          >`,
      )}</g
  >`
}

/** Text for a day without a bought answer. */
function evidenceWords(evidence: string | null): string {
  return evidence === 'not asked' ? 'not asked: the last answer is used' : 'an older answer, reused'
}

function placeWords({ day, position }: Spot): string {
  const place = position === null ? `not among the first ${day.depth ?? 0}` : `position ${position}`
  return day.evidence === 'bought' ? place : `${place}, ${evidenceWords(day.evidence)}`
}

function gridLine(at: number, text: string): Html {
  return html`<line
      class="grid"
      x1="${size.left}"
      x2="${size.width - size.right}"
      y1="${round(at)}"
      y2="${round(at)}"
    />
    <text class="tick" x="${size.left - 6}" y="${round(at)}" dy="0.32em" text-anchor="end"
      >${text}</text
    >`
}

const edge = (at: number) => round(Math.max(24, Math.min(at, size.width - 30)))
const round = (value: number) => Math.round(value * 10) / 10

/** Positions by day, as chart and numbers, with a form for the days. */
export function drawHistory(found: QueryFound, place: PagePlace, asked: readonly string[]): Html {
  const days = daysOf(found)
  const title = `Positions for ${found.query.q}, day by day`
  const form = chooser({ place, name: 'What the history shows' }, [
    dayFields(found.span),
    textField({
      name: 'domain',
      label: 'Other domains',
      value: asked.join(' '),
      hint: 'example.com',
    }),
  ])
  const empty = nothing(
    'The query was not asked in this period.',
    npmRun('enqueue inputs/keywords.csv'),
  )
  return section(
    {
      id: 'history',
      title: 'Rank history',
      about:
        'Position 1 is at the top. A hollow point is a reused answer, a dotted line a day without an answer (point at it for the reason), "not in" an answer without the domain.',
    },
    html`${form}
    ${
      days.length === 0
        ? empty
        : html`${legend(found, place)}
          ${scrolled('Rank history, as a picture', rankChart(found, title))}
          ${figuresLink(title, figureRows(found, days))} ${numbers(found, place)}`
    }`,
  )
}

/** Same data as in the chart; the answer's state distinguishes a domain that is not in it from a day without one. */
function figureRows({ shown, ranks }: QueryFound, days: readonly ChartDay[]) {
  const places = placesOf(ranks)
  return [
    ['day', 'answer', ...shown.map(({ domain }) => domain)],
    ...days.map(({ runDate, evidence, silence }) => [
      runDate,
      silence ?? evidence,
      ...shown.map(({ domain }) => (silence === null ? places.get(`${runDate} ${domain}`) : null)),
    ]),
  ]
}

function placesOf(ranks: QueryFound['ranks']): ReadonlyMap<string, number> {
  return new Map(ranks.map((rank) => [`${rank.runDate} ${rank.domain}`, rank.position]))
}

function legend({ shown, span }: QueryFound, place: PagePlace): Html {
  return html`<ul class="legend">
    ${shown.map(
      ({ domain, ours }, index) =>
        html`<li class="c${index % 8}">
          <svg viewBox="0 0 18 10" aria-hidden="true"><path d="M0 5H18" /></svg>
          ${toDomain(place, domain, span)}${ours ? html` <span class="soft">ours</span>` : null}
        </li>`,
    )}
  </ul>`
}

function numbers({ query, days, shown, ranks, notes }: QueryFound, place: PagePlace): Html {
  const places = placesOf(ranks)
  const cell = ({ runDate, silence }: ChartDay, domain: string) => {
    if (silence !== null) return html`<span class="none">no answer</span>`
    return amount(places.get(`${runDate} ${domain}`) ?? null)
  }
  const shownDays = daysOf({ days }).toReversed()
  return html`<details id="numbers">
    <summary>In numbers${notes.length === 0 ? null : ', and the notes'}</summary>
    ${table(
      'Positions day by day',
      [
        {
          head: 'Day',
          word: true,
          cell: ({ runDate }) => to(place.href(nightPath(query.id, runDate)), runDate),
        },
        { head: 'Answer', word: true, cell: ({ evidence, silence }) => silence ?? evidence },
        ...shown.map(({ domain }) => ({
          head: domain,
          number: true as const,
          cell: (day: ChartDay) => cell(day, domain),
        })),
      ],
      shownDays,
    )}
    ${
      notes.length === 0
        ? null
        : html`<ol class="notes">
            ${notes.map(({ date, text }) => html`<li>${date}: ${given(text)}</li>`)}
          </ol>`
    }
  </details>`
}
