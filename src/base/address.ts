// Parses addresses of APIs, Redis, hosts and sites, and finds keys in them.

import { domainToASCII } from 'node:url'

/**
 * Parses a URL. Returns null if the text is not a valid URL. Use this function instead of `URL.canParse`: on Node 20
 * and 22, that function rejects host names with umlauts after about a thousand calls, once the engine has optimized it.
 */
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

/** True for a request with proxy headers. Such a request may come from anywhere. */
export function isForwarded(header: (name: string) => string | undefined): boolean {
  return forwarding.some((name) => header(name) !== undefined)
}

export function maskPassword(text: string): string {
  return text
    .replace(/^([a-z+]+:\/\/[^:/@]*):[^@]*@/, '$1:…@')
    .replace(/([?&][a-z_]*password=)[^&]*/g, '$1…')
}

// Path of the endpoint. It is added to the base address when a query is sent.
const endpoint = /\/v1\/search\/*$/

/**
 * Returns what is wrong with an API URL. The messages contain only the host and the path, because the other parts may
 * contain keys.
 */
export function addressProblems(url: URL): string[] {
  const problems: string[] = []
  const named = url.username !== '' || url.password !== ''
  if (named || url.searchParams.has('api_key')) {
    const place = named ? `a name or a password before ${url.host}` : 'the parameter api_key'
    problems.push(
      `SEARCH_API_URL: expected an address without a key in it, got an address with ${place}; set SEARCH_API_KEY, which is sent only in a header`,
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    problems.push(
      `SEARCH_API_URL: expected https, got http to ${url.hostname}; a key is never sent in plain text, except to this machine`,
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

/** Reads the address of one server, of sentinels or of a cluster; null for any other text. */
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
    // All connections use TLS, and certificates are checked.
    secure: found['secure'] === 's',
    username: decoded(user),
    password: decoded(password),
  }
  // A cluster has no numbered databases and no name. Sentinels monitor several servers, each of which has a name.
  if (kind === 'cluster') {
    return name === undefined && asked === undefined ? { kind, ...fleet } : null
  }
  const sentinel = readSentinelLogin(asked ?? '')
  if (name === undefined || sentinel === null) return null
  return { kind, ...fleet, name, db: Number(db ?? 0), sentinel }
}

const asking = ['sentinel_username', 'sentinel_password'] as const

/**
 * Reads the user and password for the sentinels, which have their own users. Returns null if the query string has an
 * unknown parameter.
 */
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

// Maximum length of a name that can be resolved. Longer texts are not converted, because the conversion takes quadratic
// time.
const longest = 253

/**
 * Converts a host name to the ASCII form used in addresses: bücher.de becomes xn--bcher-kva.de. Leaves any other text
 * unchanged.
 */
export function asciiHost(host: string): string {
  // Nearly every host is already ASCII. The converter would treat 1.2 as an address and drop anything after a slash.
  if (/^[ -~]*$/.test(host) || /[\s/\\?#%:@]/.test(host) || host.length > longest) return host
  const ascii = domainToASCII(host)
  return ascii === '' ? host : ascii
}

const domainShape =
  /^(?=.{1,253}$)([\p{L}\p{N}]([\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u

export function isDomain(text: string): boolean {
  return domainShape.test(text)
}

/** Normalizes a domain to the form used in the analysis: in lower case, without a leading www. */
function domainName(typed: string): string {
  return asciiHost(typed.trim())
    .toLowerCase()
    .replace(/^www\.(?=.)/, '')
}

const siteShape = /^(\*\.)?([^/?#]*)(.*)$/s

/** Normalizes a site for the analysis: a domain, optionally with `*.` for its subdomains, and optionally a folder. */
export function siteName(typed: string): string {
  const [, wide = '', host = '', path = ''] = siteShape.exec(typed.trim()) ?? []
  return wide + domainName(host) + spellPath(path.replace(/\/+$/, ''))
}

function spellPath(path: string): string {
  return path.startsWith('/') && !/[?#\s]/.test(path) ? new URL(`http://x.x${path}`).pathname : path
}

export function isSite(text: string): boolean {
  const [, , host = '', path = ''] = siteShape.exec(text) ?? []
  return isDomain(host) && /^(\/[^?#\s/]+)*$/.test(path)
}
