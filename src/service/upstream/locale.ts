import type { Search } from '../schemas.ts'
import type { Places } from './places.ts'

/** Our `hl`, `gl` and `location` as SearXNG's one `language`; nothing when none was sent. */
export function upstreamLanguage(
  { hl, gl, location }: Pick<Search, 'hl' | 'gl' | 'location'>,
  places: Places,
): { language?: string } {
  const spoken = hl === null ? undefined : readTag(hl)
  const region = gl ?? places.regionOf(location) ?? spoken?.region
  if (region === undefined) return spoken === undefined ? {} : { language: spoken.language }
  const language = spoken?.language ?? new Intl.Locale(`und-${region}`).maximize().language
  return { language: `${language}-${region}` }
}

/** `zh-Hant-TW` speaks zh in TW; `en-150` and the like name no country. */
function readTag(hl: string): { language: string; region?: string } {
  const [language = '', ...rest] = hl.split('-')
  const region = rest.find((part) => /^[a-z]{2}$/i.test(part))?.toUpperCase()
  return { language: language.toLowerCase(), ...(region === undefined ? {} : { region }) }
}
