import { domainToASCII } from 'node:url'
import { getDomain } from 'tldts'

// Parameters that say where a click came from, not which page it leads to.
const tracking =
  /^(utm_[a-z_]+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_cid|mc_eid|srsltid|_ga|_gl)(=|$)/i

export interface Address {
  /** In the form in which browsers compare hosts; null when the address has none. */
  readonly host: string | null
  /** Without scheme, fragment, tracking parameters and closing slash: equal for spellings of one page. */
  readonly key: string
}

/** Reads an address as a browser would; one that no browser would take keeps its text as its key. */
export function readAddress(url: string): Address {
  const parsed = parse(url)
  if (parsed === null || parsed.hostname === '')
    return { host: null, key: url.replace(/#.*$/s, '') }
  const path = parsed.pathname.replace(/\/$/, '')
  return {
    host: parsed.hostname,
    key: `${withoutDefaultPort(parsed)}${path}${withoutTracking(parsed.search)}`,
  }
}

/** Most addresses are fine: looking first would read each of them twice. */
function parse(url: string): URL | null {
  try {
    return new URL(url)
  } catch {
    return null
  }
}

/** Registrable domain by the public suffix list, private suffixes included; null for numbers and names without one. */
export function siteOf(host: string): string | null {
  const ascii = domainToASCII(host)
  return getDomain(ascii === '' ? host : ascii, { allowPrivateDomains: true })
}

function withoutTracking(search: string): string {
  if (search === '') return ''
  const kept = search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !tracking.test(parameter))
  return kept.length === 0 ? '' : `?${kept.join('&')}`
}

// The scheme is left out, so a port that is the default of either scheme says nothing.
function withoutDefaultPort(url: URL): string {
  return url.port === '80' || url.port === '443' ? url.hostname : url.host
}
