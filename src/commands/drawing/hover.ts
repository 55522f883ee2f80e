import { html, type Html } from './html.ts'

interface Told {
  readonly name: string
  readonly points: readonly { readonly at: Date; readonly value: number | null }[]
}

interface Drawing {
  readonly x: (at: Date) => number
  readonly y: (value: number) => number
  readonly grain: 'day' | 'instant'
  readonly format: (value: number) => string
}

/** Where each point of a line is, and what it says: as an attribute of the line, escaped like all else. */
export function hoverPoints({ name, points }: Told, { x, y, grain, format }: Drawing): Html {
  const told = points.flatMap(({ at, value }) => {
    if (value === null) return []
    const when = at
      .toISOString()
      .slice(0, grain === 'day' ? 10 : 16)
      .replace('T', ' ')
    return [[Math.round(x(at)), Math.round(y(value)), `${when}: ${format(value)}`]]
  })
  return html` data-name="${name}" data-points="${JSON.stringify(told)}"`
}
