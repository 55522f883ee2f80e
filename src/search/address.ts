import { domainToASCII } from 'node:url'
import { getDomain } from 'tldts'

// Parameters that say where a click came from, not which page it leads to.
const tracking =
  /^(utm_[a-z_]+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_cid|mc_eid|srsltid|_ga|_gl)(=|$)/i

/** Host of an address, in the form in which browsers compare hosts; null when it has none. */
export function hostOf(url: string): string | null {
  const parsed = parseUrl(url)
  return parsed === null || parsed.hostname === '' ? null : parsed.hostname
}

/** The address without scheme, fragment, tracking parameters and closing slash: equal for spellings of one page. */
export function urlKey(url: string): string {
  const parsed = parseUrl(url)
  if (parsed === null || parsed.host === '') return url.replace(/#.*$/s, '')
  const search = parsed.search
    .slice(1)
    .split('&')
    .filter((parameter) => parameter !== '' && !tracking.test(parameter))
    .join('&')
  const path = parsed.pathname.replace(/\/$/, '')
  return `${withoutDefaultPort(parsed)}${path}${search === '' ? '' : `?${search}`}`
}

/** Registrable domain by the public suffix list, private suffixes included; null for numbers and names without one. */
export function siteOf(host: string): string | null {
  const ascii = domainToASCII(host)
  return getDomain(ascii === '' ? host : ascii, { allowPrivateDomains: true })
}

function parseUrl(url: string): URL | null {
  return URL.canParse(url) ? new URL(url) : null
}

// The scheme is left out, so a port that is the default of either scheme says nothing.
function withoutDefaultPort(url: URL): string {
  return url.port === '80' || url.port === '443' ? url.hostname : url.host
}
