import { dayOf } from '../../shared/time/zone.ts'
import { groupBy } from '../../shared/group.ts'
import type { Figures } from '../../store/analysis/figures.ts'
import type { PagePlace } from '../desk/page.ts'
import { suspectBands } from '../desk/pages/domain/shares.ts'
import { html, type Html } from '../drawing/html.ts'
import type { Point } from '../drawing/lines.ts'
import { drawSmall } from '../drawing/picture.ts'
import { section } from '../drawing/parts.ts'
import { nameVariants } from '../drawing/variants.ts'

/** A line for each query, in the order in which they first come: by id, since two of them may have the same text. */
function linesOf(
  { ranks, variants }: Figures,
  domain: string,
): { name: string; points: Point[] }[] {
  const names = nameVariants(variants)
  const own = ranks.filter((row) => row.domain === domain)
  return [...groupBy(own, ({ queryId }) => queryId)].map(([id, rows]) => ({
    name: names.get(id) ?? id,
    points: rows.map(({ runDate, position }) => ({ at: dayOf(runDate), value: position })),
  }))
}

/** Places of one domain, a small chart for each query. */
export function drawRanks(
  figures: Figures,
  { domain, label }: Figures['domains'][number],
  place: PagePlace,
): Html {
  const lines = linesOf(figures, domain)
  const deepest = Math.max(
    10,
    ...lines.flatMap(({ points }) => points.map(({ value }) => value ?? 0)),
  )
  const scale = {
    range: [deepest + 0.5, 0.5] as const,
    ticks: [1, ...[3, 10, 20, 50, 100].filter((tick) => tick <= deepest)],
  }
  const about =
    lines.length === 0
      ? 'It was in no answer of this time.'
      : 'Its heaviest queries; the first place is at the top.'
  return section(
    {
      id: place.id('ranks'),
      title: `Rank history of ${label}`,
      about: label === domain ? about : `${domain}. ${about}`,
    },
    html`<div class="smalls">
      ${lines.map(({ name, points }) => {
        const now = points.at(-1)?.value ?? null
        return html`<figure>
          <figcaption>
            ${name} <span class="soft">${now === null ? 'not ranked now' : html`now ${now}`}</span>
          </figcaption>
          ${drawSmall({
            ...scale,
            title: `Position of ${domain} for ${name}, day by day`,
            series: [{ name, points }],
            notes: figures.notes,
            bands: suspectBands(figures.suspect, place),
            grain: 'day',
            width: 330,
            height: 130,
            format: String,
          })}
        </figure>`
      })}
    </div>`,
  )
}
