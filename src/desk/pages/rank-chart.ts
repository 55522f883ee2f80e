// Draws the rank chart of a query: positions by day.

import { npmRun } from '../../base/cli/commands.ts'
import { dayOf } from '../../base/time/zone.ts'
import { type Html, html } from '../drawing/html.ts'
import { figuresLink, lineChart } from '../drawing/lines.ts'
import { amount, given, nothing, scrolled, section } from '../drawing/parts.ts'
import { column, table } from '../drawing/tables.ts'
import type { PagePlace } from '../page.ts'
import { chooser, dayFields, textField } from './choose.ts'
import type { QueryFound } from './query-read.ts'
import { toDomain, toNight } from './ways.ts'

interface ChartDay {
  readonly at: Date
  readonly runDate: string
  /** Null if no answer is shown for the day. */
  readonly evidence: string | null
  /** Reason why no answer is shown; null if one is. */
  readonly silence: string | null
  readonly depth: number | null
}

/** Days of a query, one entry each, oldest first; if a day has several runs, the one with an answer is used. */
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

/** Draws positions over time: position 1 at the top, "not in it" at the bottom, gaps for days without an answer. */
function rankChart({ shown, ranks, notes }: QueryFound, days: readonly ChartDay[], title: string) {
  const deepest = Math.max(10, ...ranks.map(({ position }) => position))
  const out = deepest * 1.12 + 0.5
  const places = placesOf(ranks)
  return lineChart({
    title,
    ...{ grain: 'day', width: 1040, height: 340, hover: true, spots: true },
    range: [out, 0.5],
    ticks: [1, ...[3, 5, 10, 20, 50, 100].filter((tick) => tick <= deepest), out],
    format: (position) => (position === out ? 'not in' : String(position)),
    notes,
    gaps: days.flatMap(({ at, runDate, silence }) =>
      silence === null ? [] : [{ at, name: `${runDate}: ${silence}` }],
    ),
    series: shown.map(({ domain }) => ({
      name: domain,
      points: days.map((day) => {
        const position = places.get(`${day.runDate} ${domain}`)
        return {
          at: day.at,
          value: day.evidence === null ? null : (position ?? out),
          words: placeWords(day, position),
          hollow: day.evidence !== 'bought',
        }
      }),
    })),
  })
}

function placeWords({ evidence, depth }: ChartDay, position: number | undefined): string {
  const place =
    position === undefined ? `not among the first ${depth ?? 0}` : `position ${position}`
  if (evidence === 'bought') return place
  const older =
    evidence === 'not asked' ? 'not asked: the last answer is used' : 'an older answer, reused'
  return `${place}, ${older}`
}

/** Positions by day, as chart and numbers, with a form for the days. */
export function drawHistory(found: QueryFound, place: PagePlace, asked: readonly string[]): Html {
  const days = daysOf(found)
  const title = `Positions for ${found.query.q}, day by day`
  const form = chooser({ place, name: 'What the history shows' }, [
    ...dayFields(found.span),
    textField('domain', 'Other domains', { value: asked.join(' '), placeholder: 'example.com' }),
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
          ${scrolled('Rank history, as a picture', rankChart(found, days, title))}
          ${figuresLink(title, figureRows(found, days))} ${numbers(found, days, place)}`
    }`,
  )
}

/** Rows with the data of the chart. Their state distinguishes a day without the domain from a day without an answer. */
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

function numbers(
  { query, shown, ranks, notes }: QueryFound,
  days: readonly ChartDay[],
  place: PagePlace,
): Html {
  const places = placesOf(ranks)
  const none = html`<span class="none">no answer</span>`
  return html`<details id="numbers">
    <summary>In numbers${notes.length === 0 ? null : ', and the notes'}</summary>
    ${table('Positions day by day', days.toReversed(), [
      column.word('Day', ({ runDate }) => toNight(place, query.id, { day: runDate })),
      column.word('Answer', ({ evidence, silence }) => silence ?? evidence),
      ...shown.map(({ domain }) =>
        column.right(domain, ({ runDate, silence }: ChartDay) =>
          silence === null ? amount(places.get(`${runDate} ${domain}`) ?? null) : none,
        ),
      ),
    ])}
    ${
      notes.length === 0
        ? null
        : html`<ol class="notes">
            ${notes.map(({ date, text }) => html`<li>${date}: ${given(text)}</li>`)}
          </ol>`
    }
  </details>`
}
