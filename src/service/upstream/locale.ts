import type { Search } from '../schemas.ts'

/** The country that a place name ends in: `Lyon, France` is FR. Null when it names none that we know. */
export function guessRegion(location: string | null): string | null {
  const country = location?.split(',').at(-1)?.trim().toLowerCase()
  return country === undefined ? null : (regions().get(country) ?? null)
}

let known: Map<string, string> | undefined

function regions(): Map<string, string> {
  known ??= new Map(allRegions())
  return known
}

function* allRegions(): Generator<[string, string]> {
  const names = new Intl.DisplayNames(['en'], { type: 'region', fallback: 'none' })
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('')
  for (const first of letters) {
    for (const second of letters) {
      const code = first + second
      // Codes that were given up still have a name: FX is France too.
      if (new Intl.Locale(`und-${code}`).region !== code) continue
      const name = names.of(code)
      if (name !== undefined) yield [name.toLowerCase(), code]
    }
  }
  yield* [
    ['usa', 'US'],
    ['uk', 'GB'],
  ] as [string, string][]
}

/** Our `hl`, `gl` and `location` as SearXNG's one `language`; nothing when none was sent. */
export function upstreamLanguage({ hl, gl, location }: Search): { language?: string } {
  const region = gl ?? guessRegion(location)
  const spoken = hl?.split('-')[0]?.toLowerCase()
  if (region === null) return spoken === undefined ? {} : { language: spoken }
  const language = spoken ?? new Intl.Locale(`und-${region}`).maximize().language
  return { language: `${language}-${region}` }
}
