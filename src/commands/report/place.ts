import type { PagePlace } from '../desk/page.ts'
import type { ReportFound } from './read.ts'

/** Where parts of the desk stand in a file: what it holds itself can be gone to, and nothing else. */
export function stillPlace({ figures, zone }: ReportFound): PagePlace {
  const anchors = new Map(
    figures.domains.map(({ domain }, index) => [
      `/domains/${encodeURIComponent(domain)}`,
      `#domain-${index + 1}`,
    ]),
  )
  return {
    path: '',
    filters: new URLSearchParams(),
    zone,
    today: figures.day ?? figures.span.until,
    origins: figures.origins.join(','),
    suspects: false,
    href: (path) => anchors.get(path) ?? null,
    id: (name) => name,
    still: true,
  }
}

/** A place within another: parts that come more than once have ids of their own. */
export function insidePlace(place: PagePlace, name: string): PagePlace {
  return { ...place, id: (part) => `${name}-${part}` }
}
