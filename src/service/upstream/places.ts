/** Countries by the names that people write. */
export interface Places {
  /** The country that a place name ends in: `Lyon, France` is FR. Null when it names none, or more than one. */
  regionOf(location: string | null): string | null
}

let loaded: Promise<Places> | undefined

/** Names of countries and their parts take a moment to load: only a service that asks the web pays for it. */
export function loadPlaces(): Promise<Places> {
  loaded ??= readPlaces()
  return loaded
}

async function readPlaces(): Promise<Places> {
  const [{ default: names }, { iso31661, iso31662 }] = await Promise.all([
    import('i18n-iso-countries'),
    import('iso-3166'),
  ])
  const countries = new Map<string, string>()
  const given = names.getNames('en', { select: 'all' })
  for (const { alpha2 } of iso31661) {
    // CLDR has one long and one short name for each; the others are how people write.
    for (const style of ['long', 'short'] as const) add(countries, displayed(alpha2, style), alpha2)
    for (const name of given[alpha2] ?? []) add(countries, name, alpha2)
  }
  const parts = new Map<string, Set<string>>()
  for (const { name, code } of iso31662) {
    const key = fold(name)
    parts.set(key, (parts.get(key) ?? new Set()).add(code.slice(0, 2)))
  }
  return { regionOf: (location) => regionOf(location, { countries, parts }) }
}

function add(countries: Map<string, string>, name: string | undefined, code: string): void {
  if (name !== undefined && !countries.has(fold(name))) countries.set(fold(name), code)
}

function displayed(code: string, style: 'long' | 'short'): string | undefined {
  return new Intl.DisplayNames(['en'], { type: 'region', style, fallback: 'none' }).of(code)
}

/** `Türkiye` and `Turkiye`, `U.S.` and `US` are one name each. */
function fold(name: string): string {
  return name
    .normalize('NFD')
    .replace(/[\p{M}.]/gu, '')
    .toLowerCase()
    .trim()
}

interface Names {
  readonly countries: ReadonlyMap<string, string>
  readonly parts: ReadonlyMap<string, ReadonlySet<string>>
}

function regionOf(location: string | null, { countries, parts }: Names): string | null {
  const pieces = location?.split(',').map(fold) ?? []
  const last = pieces.at(-1) ?? ''
  const country = countries.get(last) ?? null
  const holders = parts.get(last) ?? new Set()
  if (country === null) return holders.size === 1 ? ([...holders][0] ?? null) : null
  // A town in Georgia may lie in either of two.
  const another = [...holders].some((holder) => holder !== country)
  return another && pieces.length > 1 ? null : country
}
