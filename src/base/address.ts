// Parses addresses of APIs, Redis, hosts and sites, and finds keys in them.

import { domainToASCII } from 'node:url'

/** Parses a URL or returns null. On Node 20 and 22, `URL.canParse` rejects umlauts in hosts after about 1,000 calls. */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

const forwarding = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/** True if the request came through a proxy. A proxied client may be on any host. */
export function isForwarded(header: (name: string) => string | undefined): boolean {
  return forwarding.some((name) => header(name) !== undefined)
}

export function maskPassword(text: string): string {
  return text
    .replace(/^([a-z+]+:\/\/[^:/@]*):[^@]*@/, '$1:…@')
    .replace(/([?&][a-z_]*password=)[^&]*/g, '$1…')
}

// Path of the search endpoint, which is added to the base address.
const endpoint = /\/v1\/search\/*$/

/** Lists the errors in an API URL. Messages quote only the host and path, because other parts may contain keys. */
export function addressProblems(url: URL): string[] {
  const problems: string[] = []
  const named = url.username !== '' || url.password !== ''
  if (named || url.searchParams.has('api_key')) {
    const place = named ? `a user name or password before ${url.host}` : 'the parameter api_key'
    problems.push(
      `SEARCH_API_URL: expected an address without a key, got an address with ${place}; set SEARCH_API_KEY, which is sent only in a header`,
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    problems.push(
      `SEARCH_API_URL: expected https, got http://${url.hostname}; keys are never sent in plain text, except to this machine`,
    )
  }
  if (endpoint.test(url.pathname)) {
    const base = `${url.origin}${url.pathname.replace(endpoint, '')}`
    problems.push(
      `SEARCH_API_URL: expected the base address ${base}, got an address with /v1/search; remove /v1/search, which is added automatically`,
    )
  }
  return problems
}

const shape =
  /^redis(?<secure>s?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<nodes>[^@/?#]+)(?:\/(?<name>[\w.-]+)(?:\/(?<db>\d{1,5}))?)?\/?(?:\?(?<asked>.+))?$/
const nodeShape = /^(?<host>\[[\da-f:]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?$/i

const ports = { sentinel: 26_379, cluster: 6_379 } as const

/** Parses the address of a Redis server, sentinels or a cluster, or returns null for any other text. */
export function readRedisAddress(text: string) {
  if (/^rediss?:\/\//.test(text)) {
    return parseUrl(text) === null ? null : { kind: 'server' as const, url: text }
  }
  const found = shape.exec(text)?.groups
  if (found === undefined) return null
  const kind = found['kind'] === 'sentinel' ? ('sentinel' as const) : ('cluster' as const)
  const nodes = (found['nodes'] ?? '').split(',').map((node) => readNode(node, ports[kind]))
  if (nodes.some((node) => node === null)) return null
  const { user, password, name, db, asked } = found
  const fleet = {
    nodes: nodes.filter((node) => node !== null),
    // With `rediss`, all connections use TLS, and certificates are checked.
    secure: found['secure'] === 's',
    username: decoded(user),
    password: decoded(password),
  }
  // A cluster has no numbered databases and no name. Sentinels can monitor several servers, so a name is required.
  if (kind === 'cluster') {
    return name === undefined && asked === undefined ? { kind, ...fleet } : null
  }
  const sentinel = readSentinelLogin(asked ?? '')
  if (name === undefined || sentinel === null) return null
  return { kind, ...fleet, name, db: Number(db ?? 0), sentinel }
}

const asking = ['sentinel_username', 'sentinel_password'] as const

/** Reads the separate login for the sentinels. Returns null for unknown parameters. */
function readSentinelLogin(query: string) {
  const given = new URLSearchParams(query.replaceAll('+', '%2B'))
  if ([...given.keys()].some((key) => !asking.some((known) => known === key))) return null
  const [username, password] = asking.map((key) => given.get(key) ?? undefined)
  return { username, password }
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text)
}

function readNode(text: string, usual: number) {
  const { host, port } = nodeShape.exec(text)?.groups ?? {}
  if (host === undefined) return null
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) }
}

// Maximum length of a host name. Longer texts are not converted, because conversion takes quadratic time.
const longest = 253

/** Converts a host name to ASCII: bücher.de becomes xn--bcher-kva.de. Any other text is returned unchanged. */
export function asciiHost(host: string): string {
  // Nearly all host names are already ASCII. The converter would treat `1.2` as an IP address and drop anything after
  // a slash.
  if (/^[ -~]*$/.test(host) || /[\s/\\?#%:@]/.test(host) || host.length > longest) return host
  const ascii = domainToASCII(host)
  return ascii === '' ? host : ascii
}

const domainShape =
  /^(?=.{1,253}$)([\p{L}\p{N}]([\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u

export function isDomain(text: string): boolean {
  return domainShape.test(text)
}

const siteShape = /^(\*\.)?([^/?#]*)(.*)$/s

/** Normalizes a site to a lower-case domain without www. The site may start with `*.` or end with a folder. */
export function siteName(typed: string): string {
  const [, wide = '', host = '', path = ''] = siteShape.exec(typed.trim()) ?? []
  const domain = asciiHost(host.trim()).toLowerCase()
  const folder = path.replace(/\/+$/, '')
  const spelt = /^\/[^?#\s]*$/.test(folder) ? new URL(`http://x.x${folder}`).pathname : folder
  return wide + domain.replace(/^www\.(?=.)/, '') + spelt
}

export function isSite(text: string): boolean {
  const [, , host = '', path = ''] = siteShape.exec(text) ?? []
  return isDomain(host) && /^(\/[^?#\s/]+)*$/.test(path)
}
