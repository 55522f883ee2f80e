/** A place that answers for Redis. */
export interface RedisNode {
  readonly host: string
  readonly port: number
}

/** What an address of Redis says: one server, or servers of which some know where the others are. */
export type RedisAddress =
  | { readonly kind: 'server'; readonly url: string }
  | (Fleet & { readonly kind: 'sentinel'; readonly name: string; readonly db: number })
  | (Fleet & { readonly kind: 'cluster' })

interface Fleet {
  readonly nodes: readonly RedisNode[]
  /** True: everything is encrypted, and certificates are checked. */
  readonly secure: boolean
  readonly username: string | undefined
  readonly password: string | undefined
}

const shape =
  /^redis(?<secure>s?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<nodes>[^@/?#]+)(?:\/(?<name>[\w.-]+)(?:\/(?<db>\d{1,5}))?)?\/?$/
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
  const { user, password, name, db } = found
  const fleet = {
    nodes: nodes.filter((node) => node !== null),
    secure: found['secure'] === 's',
    username: decoded(user),
    password: decoded(password),
  }
  // A cluster has no databases and no name; sentinels watch over several servers, each by its name.
  if (kind === 'cluster') return name === undefined ? { kind, ...fleet } : null
  return name === undefined ? null : { kind, ...fleet, name, db: Number(db ?? 0) }
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text)
}

function readNode(text: string, usual: number): RedisNode | null {
  const { host, port } = nodeShape.exec(text)?.groups ?? {}
  if (host === undefined) return null
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? usual : Number(port) }
}
