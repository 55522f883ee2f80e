/** True for the names and numbers of this machine itself. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/** True for a request that came through a proxy and says so: whoever asked it may be anywhere. */
export function isForwarded(header: (name: string) => string | undefined): boolean {
  return forwarding.some((name) => header(name) !== undefined)
}

/** An address as it may be shown. */
export function maskPassword(text: string): string {
  return text
    .replace(/^([a-z+]+:\/\/[^:/@]*):[^@]*@/, '$1:…@')
    .replace(/([?&][a-z_]*password=)[^&]*/g, '$1…')
}

/** Where an address holds what looks like a key; null when it holds none. */
function keyPlace(url: URL): string | null {
  if (url.username !== '' || url.password !== '') return `a name or a password before ${url.host}`
  return url.searchParams.has('api_key') ? 'the parameter api_key' : null
}

// The endpoint is added to the base address when a query is sent.
const endpoint = /\/v1\/search\/*$/

/** What is wrong with the address of an API. No message shows more of it than host and path: keys stand elsewhere. */
export function addressProblems(url: URL): string[] {
  const problems: string[] = []
  const place = keyPlace(url)
  if (place !== null) {
    problems.push(
      `SEARCH_API_URL: expected an address without a key in it, got one with ${place}; set SEARCH_API_KEY, which travels in a header only`,
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    problems.push(
      `SEARCH_API_URL: expected https, got http to ${url.hostname}; a key never travels in the clear, except to this machine`,
    )
  }
  if (endpoint.test(url.pathname)) {
    const base = `${url.origin}${url.pathname.replace(endpoint, '')}`
    problems.push(
      `SEARCH_API_URL: expected the base address ${base}, got one with /v1/search, which is added to it; leave /v1/search out`,
    )
  }
  return problems
}
