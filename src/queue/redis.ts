import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { asError, codeOf, Misuse, reasonOf, Unreachable, WrongDatabase } from '../shared/errors.ts'
import { readRedisAddress } from '../shared/redis-address.ts'
import { late, within } from '../shared/waiting.ts'

/** As long as the first connections to PostgreSQL are tried: a machine on which many start at once is slow. */
const firstAnswerMs = 30_000

/** A server that was the first among them and came back as a copy: what it refused is sent again, to the new first. */
const reconnectAndResend = 2

const options: RedisOptions = {
  // Blocking commands of the queue wait for as long as it takes.
  maxRetriesPerRequest: null,
  lazyConnect: true,
  reconnectOnError: (error) => (firstWord(error) === 'READONLY' ? reconnectAndResend : false),
}

/** Redis gives its errors a code as their first word. */
function firstWord({ message }: Error): string {
  return message.split(' ', 1)[0] ?? ''
}

/** One connection to a Redis that answers and keeps every key; each worker opens a blocking one beside it. */
export async function openRedis(url: string): Promise<Redis | Cluster> {
  const connection = connectionOf(url)
  let told: Error | undefined
  connection.on('error', (error: Error) => (told = error))
  try {
    for (const memory of await firstAnswer(connection, () => told)) refuseForgetful(memory)
  } catch (error) {
    connection.disconnect()
    throw error
  }
  return connection
}

function connectionOf(url: string): Redis | Cluster {
  const address = readRedisAddress(url)
  // The setting was read before; tests and tools may say what they like.
  if (address === null) throw new Misuse(`expected REDIS_URL to lead to a Redis, got ${url}`)
  if (address.kind === 'server') return new Redis(address.url, options)
  const { nodes, username, password, secure } = address
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(secure ? { tls: {} } : {}),
  }
  if (address.kind === 'cluster') {
    return new Cluster([...nodes], {
      lazyConnect: true,
      redisOptions: { ...options, lazyConnect: false, ...login },
      // A certificate names hosts: what a name leads to is looked up when the connection is made.
      ...(secure ? { dnsLookup: (host, done) => done(null, host) } : {}),
    })
  }
  const { sentinel } = address
  return new Redis({
    ...options,
    ...login,
    ...(sentinel.username === undefined ? {} : { sentinelUsername: sentinel.username }),
    ...(sentinel.password === undefined ? {} : { sentinelPassword: sentinel.password }),
    sentinels: [...nodes],
    name: address.name,
    db: address.db,
    ...(secure ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  })
}

/** What sentinels said, out of what the driver makes of it. */
function sentinelReason(error: Error): string | undefined {
  return /^All sentinels are unreachable\b.* Last error: (.*)$/s.exec(error.message)?.[1]
}

/** Fails when no sentinel lets us in: the driver would ask for ever. */
function sentinelRefusal(connection: Redis | Cluster): Promise<never> {
  return new Promise((_, fail) => {
    connection.on('error', (error: Error) => {
      const reason = sentinelReason(error) ?? ''
      if (/^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(reason)) fail(error)
    })
  })
}

/** What every server that keys go to says about its memory. */
async function firstAnswer(
  connection: Redis | Cluster,
  told: () => Error | undefined,
): Promise<readonly string[]> {
  const asked = connection.connect().then(() => {
    const servers = connection instanceof Cluster ? connection.nodes('master') : [connection]
    return Promise.all(servers.map((server) => server.info('memory')))
  })
  try {
    const first = Promise.race([asked, sentinelRefusal(connection)])
    const answers = await within(first, { ms: firstAnswerMs })
    if (answers === late) throw told() ?? new Error(`no answer within ${firstAnswerMs / 1000} s`)
    return answers
  } catch (cause) {
    // The driver ends with "Connection is closed." what failed for a reason that it told before.
    const error = asError(codeOf(cause) === null ? (told() ?? cause) : cause)
    const reason = sentinelReason(error) ?? reasonOf(error)
    throw new Unreachable(
      `expected a Redis server at REDIS_URL, got ${reason}; start it, or unset REDIS_URL to queue on Postgres`,
      { cause },
    )
  }
}

/** A Redis that may drop keys hands out jobs without data: refused before the first one. */
function refuseForgetful(memory: string): void {
  const value = (name: string) => new RegExp(`^${name}:(.*)$`, 'm').exec(memory)?.[1]?.trim()
  const policy = value('maxmemory_policy') ?? 'noeviction'
  if (value('maxmemory') === '0' || policy === 'noeviction') return
  throw new WrongDatabase(
    `expected a Redis that keeps every key, got maxmemory-policy ${policy}; set it to noeviction`,
  )
}
