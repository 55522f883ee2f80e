import { dayMs } from '../../shared/time/duration.ts'
import { html, type Html } from './html.ts'

/** A day of which a picture leaves something out, and why. */
export interface Band {
  readonly at: Date
  readonly name: string
}

/** Days that a picture can show: those before its first point would only make it smaller. */
export function shownBands(bands: readonly Band[], times: readonly number[]): readonly Band[] {
  const first = Math.min(...times)
  return bands.filter(({ at }) => at.getTime() >= first)
}

// A long time is drawn on few points: a day has to be seen all the same.
const narrowest = 3

/** The whole height of a day, light, behind the lines. */
export function bandOf(
  { at, name }: Band,
  x: (at: Date) => number,
  { left, right, top, bottom }: Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>,
): Html {
  const [from, to] = [-dayMs / 2, dayMs / 2].map((half) => x(new Date(at.getTime() + half)))
  const middle = x(at)
  const start = Math.max(left, Math.min(from ?? middle, middle - narrowest / 2))
  const end = Math.min(right, Math.max(to ?? middle, middle + narrowest / 2))
  const box = { x: start.toFixed(1), y: top, width: (end - start).toFixed(1), height: bottom - top }
  return html`<rect
    class="band"
    x="${box.x}"
    y="${box.y}"
    width="${box.width}"
    height="${box.height}"
    ><title>${name}</title></rect
  >`
}
