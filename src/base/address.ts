// Reads addresses of APIs, Redis, hosts and sites, and finds keys in them.

import { domainToASCII } from 'node:url'

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

/** Names the part of an address that looks like a key; null when none does. */
function keyPlace(url: URL): string | null {
  if (url.username !== '' || url.password !== '') return `a name or a password before ${url.host}`
  return url.searchParams.has('api_key') ? 'the parameter api_key' : null
}

// The endpoint is added to the base address when a query is sent.
const endpoint = /\/v1\/search\/*$/

/** Lists problems of an API address. Messages show host and path only: the other parts can hold keys. */
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

/** A place that answers for Redis. */
interface RedisNode {
  readonly host: string
  readonly port: number
}

/** A Redis address: one server, sentinels, or a cluster. */
type RedisAddress =
  | { readonly kind: 'server'; readonly url: string }
  | (Fleet & {
      readonly kind: 'sentinel'
      readonly name: string
      readonly db: number
      /** Login at the sentinels themselves. */
      readonly sentinel: RedisLogin
    })
  | (Fleet & { readonly kind: 'cluster' })

/** Login at a Redis server. */
interface RedisLogin {
  readonly username: string | undefined
  readonly password: string | undefined
}

interface Fleet extends RedisLogin {
  readonly nodes: readonly RedisNode[]
  /** True: everything is encrypted, and certificates are checked. */
  readonly secure: boolean
}

const shape =
  /^redis(?<secure>s?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<nodes>[^@/?#]+)(?:\/(?<name>[\w.-]+)(?:\/(?<db>\d{1,5}))?)?\/?(?:\?(?<asked>.+))?$/
const nodeShape = /^(?<host>\[[\da-f:]+\]|[\w.-]+)(?::(?<port>\d{1,5}))?$/i

const ports = { sentinel: 26_379, cluster: 6_379 } as const

/** Reads an address; null for one that leads to no Redis. */
export function readRedisAddress(text: string): RedisAddress | null {
  if (/^rediss?:\/\//.test(text)) return URL.canParse(text) ? { kind: 'server', url: text } : null
  const found = shape.exec(text)?.groups
  if (found === undefined) return null
  const kind = found['kind'] === 'sentinel' ? 'sentinel' : 'cluster'
  const nodes = (found['nodes'] ?? '').split(',').map((node) => readNode(node, ports[kind]))
  if (nodes.some((node) => node === null)) return null
  const { user, password, name, db, asked } = found
  const fleet = {
    nodes: nodes.filter((node) => node !== null),
    secure: found['secure'] === 's',
    username: decoded(user),
    password: decoded(password),
  }
  // A cluster has no databases and no name; sentinels watch over several servers, each by its name.
  if (kind === 'cluster') {
    return name === undefined && asked === undefined ? { kind, ...fleet } : null
  }
  const sentinel = readSentinelLogin(asked ?? '')
  if (name === undefined || sentinel === null) return null
  return { kind, ...fleet, name, db: Number(db ?? 0), sentinel }
}

const asking = ['sentinel_username', 'sentinel_password'] as const

/** Sentinels have users of their own; null for a word that means nothing here. */
function readSentinelLogin(query: string): RedisLogin | null {
  const given = new URLSearchParams(query.replaceAll('+', '%2B'))
  if ([...given.keys()].some((key) => !asking.some((known) => known === key))) return null
  const [username, password] = asking.map((key) => given.get(key) ?? undefined)
  return { username, password }
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text)
}

function readNode(text: string, usual: number): RedisNode | null {
  const { host, port } = nodeShape.exec(text)?.groups ?? {}
  if (host === undefined) return null
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) }
}

// The longest name that can be looked up anywhere; spelling longer texts anew takes the square of their length.
const longest = 253

/** A host in the letters in which addresses carry it: bücher.de is xn--bcher-kva.de. What is no host keeps its spelling. */
export function asciiHost(host: string): string {
  // Nearly every host is ASCII already; the converter would make an address of 1.2 and drop what follows a slash.
  if (/^[ -~]*$/.test(host) || /[\s/\\?#%:@]/.test(host) || host.length > longest) return host
  const ascii = domainToASCII(host)
  return ascii === '' ? host : ascii
}

const domainShape =
  /^(?=.{1,253}$)([\p{L}\p{N}]([\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u

/** True for what can be a domain. */
export function isDomain(text: string): boolean {
  return domainShape.test(text)
}

/** A domain as answers are counted: the host in lower case without a leading www. */
function domainName(typed: string): string {
  return asciiHost(typed.trim())
    .toLowerCase()
    .replace(/^www\.(?=.)/, '')
}

const siteShape = /^(\*\.)?([^/?#]*)(.*)$/s

/** A site as answers are counted: a domain, `*.` in front of it for all hosts below it, a folder behind it. */
export function siteName(typed: string): string {
  const [, wide = '', host = '', path = ''] = siteShape.exec(typed.trim()) ?? []
  return wide + domainName(host) + spellPath(path.replace(/\/+$/, ''))
}

/** A path in the letters in which addresses carry it. */
function spellPath(path: string): string {
  return path.startsWith('/') && !/[?#\s]/.test(path) ? new URL(`http://x.x${path}`).pathname : path
}

/** True for what can be a site. */
export function isSite(text: string): boolean {
  const [, , host = '', path = ''] = siteShape.exec(text) ?? []
  return isDomain(host) && /^(\/[^?#\s/]+)*$/.test(path)
}
