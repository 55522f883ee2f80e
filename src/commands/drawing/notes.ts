import { dayOf } from '../../shared/time/zone.ts'
import type { Note } from '../../store/analysis/notes.ts'
import { html, type Html } from './html.ts'

/** What analysts wrote, numbered as the pictures number it. */
export function noteList(notes: readonly Note[]): Html | null {
  if (notes.length === 0) return null
  return html`<section>
    <h2>Notes</h2>
    <p class="soft">Marked by their numbers in every picture over time.</p>
    <ol>
      ${notes.map(
        ({ date, text, tag }) =>
          html`<li>
            ${date}: ${text}${tag === '*' ? null : html` <span class="soft">${tag}</span>`}
          </li>`,
      )}
    </ol>
  </section>`
}

interface Frame {
  readonly x: (at: Date) => number
  /** The times that the picture shows, from left to right. */
  readonly within: readonly [number, number]
  readonly top: number
  readonly bottom: number
}

/** A line down for each note on a day that the picture shows. */
export function noteMarks(notes: readonly Note[], { x, within, top, bottom }: Frame): Html[] {
  return notes.flatMap(({ date, text }, index) => {
    const at = dayOf(date)
    if (at.getTime() < within[0] || at.getTime() > within[1]) return []
    const place = Math.round(x(at) * 10) / 10
    return [
      html`<g class="note"
        ><title>${date}: ${text}</title
        ><line class="mark" x1="${place}" x2="${place}" y1="${top}" y2="${bottom}" /><text
          class="tick"
          x="${place + 3}"
          y="${top + 8}"
          >${index + 1}</text
        ></g
      >`,
    ]
  })
}
