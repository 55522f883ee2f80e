import type { Figures } from '../../store/analysis/figures.ts'
import type { Band } from './bands.ts'
import { html, type Html } from './html.ts'
import { lineChart, type Point } from './lines.ts'
import { nameVariants } from './variants.ts'

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })
const dayOf = (runDate: string): Date => new Date(`${runDate}T00:00:00Z`)

/** One series for each name, in the order in which names first come. */
function group<T>(
  rows: readonly T[],
  name: (row: T) => string,
  point: (row: T) => Point,
): { name: string; points: Point[] }[] {
  const found = new Map<string, Point[]>()
  for (const row of rows) {
    const points = found.get(name(row))
    if (points === undefined) found.set(name(row), [point(row)])
    else points.push(point(row))
  }
  return [...found].map(([named, points]) => ({ name: named, points }))
}

/** Suspect days, for a picture that leaves them out. */
function bandsOf({ suspect }: Figures): readonly Band[] {
  return suspect.map(({ runDate, list, reasons }) => ({
    at: dayOf(runDate),
    name: `${runDate}: ${list} is suspect and left out (${reasons.join('; ')})`,
  }))
}

/** Share of voice of the greatest domains, as one chart. */
export function shares(figures: Figures): Html {
  const { shares: rows, tag, domains, thin, suspect, notes } = figures
  const greatest = Math.max(...rows.map(({ share }) => share), 0.001)
  const chosen = domains.map(({ domain }) => domain)
  const series = group(
    rows,
    ({ domain }) => domain,
    ({ runDate, share }) => ({ at: dayOf(runDate), value: share }),
  ).toSorted((a, b) => Number(chosen.includes(b.name)) - Number(chosen.includes(a.name)))
  const chart = lineChart({
    title: 'Share of voice of the greatest domains and the chosen ones, day by day',
    series,
    notes,
    grain: 'day',
    width: 1040,
    height: 320,
    range: [0, greatest * 1.05],
    bands: bandsOf(figures),
    format: (value) => `${Math.round(value * 1000) / 10} %`,
    named: true,
  })
  return html`<section>
    <h2>Share of voice</h2>
    <p class="soft">
      Share of the clicks that each domain's best places would get, by
      weight${tag === '*' ? ', over all queries' : html`, over queries labelled ${tag}`}.${thin.length === 0 ? null : html` Left out, since fewer than half of the usual queries were answered: ${thin.join(', ')}.`}${suspect.length === 0 ? null : html` Left out as suspect, shaded: ${suspect.map(({ runDate, list, reasons }) => `${runDate} of ${list} (${reasons.join(', ')})`).join('; ')}.`}
    </p>
    <div class="scroll wide">${chart}</div>
  </section>`
}

/** Places of one domain, a small chart for each query. */
export function ranks(figures: Figures, domain: string, label: string): Html {
  const { ranks: rows, variants, notes } = figures
  const own = rows.filter((row) => row.domain === domain)
  const deepest = Math.max(10, ...own.map(({ position }) => position ?? 0))
  const queryNames = nameVariants(variants)
  // By id: two queries may have the same text, and each its own places.
  const series = group(
    own,
    ({ queryId }) => queryId,
    ({ runDate, position }) => ({ at: dayOf(runDate), value: position }),
  ).map(({ name: id, points }) => ({ name: queryNames.get(id) ?? id, points }))
  const ticks = [1, ...[3, 10, 20, 50, 100].filter((tick) => tick <= deepest)]
  return html`<section>
    <h2>Rank history of ${label}</h2>
    <p class="soft">
      ${label === domain ? null : html`${domain}. `}${series.length === 0 ? 'It was in no answer of this time.' : 'Its heaviest queries; the first place is at the top.'}
    </p>
    <div class="smalls">
      ${series.map(({ name, points }) => {
        const now = points.at(-1)?.value ?? null
        return html`<figure>
          <figcaption>
            ${name} <span class="soft">${now === null ? 'not ranked now' : html`now ${now}`}</span>
          </figcaption>
          ${lineChart({
            title: `Position of ${domain} for ${name}, day by day`,
            series: [{ name, points }],
            notes,
            grain: 'day',
            width: 330,
            height: 130,
            range: [deepest + 0.5, 0.5],
            bands: bandsOf(figures),
            format: String,
            ticks,
          })}
        </figure>`
      })}
    </div>
  </section>`
}

/** The balance of each account over time, against the floor. */
export function balance({ balance: rows, floor, notes }: Figures): Html {
  const series = group(
    rows,
    ({ account }) => account,
    ({ at, remaining }) => ({ at, value: remaining }),
  )
  const greatest = Math.max(...rows.map(({ remaining }) => remaining), floor ?? 0, 1)
  const least = Math.min(...rows.map(({ remaining }) => remaining), floor ?? greatest)
  // A balance that hardly moved looks flat from nought; the axis says where it begins.
  const from = least > greatest / 2 ? least - (greatest - least) * 0.1 : 0
  const mark =
    floor !== null && floor >= from ? { mark: { value: floor, name: `floor ${floor}` } } : {}
  return html`<section>
    <h2>Credits</h2>
    <p class="soft">
      The balance that answers told, call by
      call${from > 0 ? '; the scale does not begin at nought' : ''}.
    </p>
    <div class="scroll wide">
      ${lineChart({
        title: 'Balance of credits over time',
        series,
        notes,
        grain: 'instant',
        width: 1040,
        height: 240,
        range: [from, greatest > from ? greatest : from + 1],
        format: (value) => compact.format(value),
        named: true,
        ...mark,
      })}
    </div>
  </section>`
}
