import { html, type Html } from './html.ts'

/** Something that happened at an instant of a picture: a top-up, a renewal. */
export interface Happening {
  readonly at: Date
  readonly name: string
}

interface Frame {
  readonly x: (at: Date) => number
  readonly top: number
  readonly bottom: number
  /** The times that the picture shows, from left to right. */
  readonly within: readonly [number, number]
}

/** A line down with an arrow at its top for each of them. */
export function eventMarks(events: readonly Happening[], frame: Frame): readonly Html[] {
  const { x, top, bottom, within } = frame
  return events
    .filter(({ at }) => at.getTime() >= within[0] && at.getTime() <= within[1])
    .map(({ at, name }) => {
      const place = Math.round(x(at) * 10) / 10
      const arrow = `M${place - 5},${top + 7}L${place},${top - 1}L${place + 5},${top + 7}Z`
      return html`<g class="event"
        ><title>${name}</title
        ><line class="mark" x1="${place}" x2="${place}" y1="${top}" y2="${bottom}" /><path
          d="${arrow}"
      /></g>`
    })
}
