/** A place that answers for Redis. */
export interface RedisNode {
  readonly host: string
  readonly port: number
}

/** What an address of Redis says: one server, or servers of which some know where the others are. */
export type RedisAddress =
  | { readonly kind: 'server'; readonly url: string }
  | (Fleet & {
      readonly kind: 'sentinel'
      readonly name: string
      readonly db: number
      /** Who asks the sentinels themselves. */
      readonly sentinel: RedisLogin
    })
  | (Fleet & { readonly kind: 'cluster' })

/** What is shown to a Redis that asks who is there. */
export interface RedisLogin {
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
