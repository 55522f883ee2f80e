// const guarded = await startGuarded() → a Redis with TLS and one user with the permissions in docs/operations.md.
// const watched = await startWatched() → a master, its replica and a sentinel; `startGuardedWatched()`: with TLS and
// passwords. const cluster = await startCluster() → three servers that share the slots. Each has `url` and `close()`.
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { freePort } from '../../src/base/embedded/process.ts'
import { root } from '../../src/base/root.ts'
import { startRedis, type RedisServer } from './redis-server.ts'
import { temporaryFolder } from './place.ts'

const patient = { interval: 50 }

/** The line in docs/operations.md with the permissions that a Redis user needs. */
function rightsOfPage(): readonly string[] {
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
  return (/^user querymill .*$/m.exec(page)?.[0] ?? '').split(' ').slice(1)
}

/** A self-signed certificate for this machine, and its key. */
function makeCertificate(folder: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, 'redis.crt'), join(folder, 'redis.key')]
  // prettier-ignore
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  return { certificate, key }
}

export async function startGuarded() {
  const folder = temporaryFolder('guarded')
  const port = await freePort()
  const { certificate, key } = makeCertificate(folder)
  // prettier-ignore
  const server = await startRedis(['--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', key,
    '--tls-auth-clients', 'no', '--user', 'default', 'off', '--user', ...rightsOfPage()])
  return {
    url: `rediss://querymill:PASSWORD@localhost:${port}`,
    plainUrl: `redis://querymill:wrong@127.0.0.1:${server.port}`,
    certificate,
    close: async () => {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Passwords for a watched master and its sentinel. */
const passwords = { master: 'master+word', sentinel: 'sentinel&word' }

export async function startWatched() {
  const folder = temporaryFolder('sentinel')
  const master = await startRedis()
  const copy = await startRedis(['--replicaof', '127.0.0.1', String(master.port)])
  const port = await freePort()
  const lines = [`port ${port}`, `sentinel monitor mill 127.0.0.1 ${master.port} 1`]
  const watching = await startSentinel(folder, lines, new Redis(port))
  await expect.poll(() => linkOf(new Redis(copy.port)), patient).toBe('up')
  return {
    url: `redis+sentinel://127.0.0.1:${port}/mill`,
    master,
    copy,
    close: async () => {
      await watching.close()
      await Promise.all([master.close(), copy.close()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The same servers with TLS between them, and a password for each. */
export async function startGuardedWatched() {
  const folder = temporaryFolder('guarded-sentinel')
  const { certificate, key } = makeCertificate(folder)
  // prettier-ignore
  const tls = (tlsPort: number) => ['--tls-port', String(tlsPort), '--tls-cert-file', certificate, '--tls-key-file', key,
    '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no', '--tls-replication', 'yes']
  const login = ['--requirepass', passwords.master, '--masterauth', passwords.master]
  const [port, masterPort, copyPort] = [await freePort(), await freePort(), await freePort()]
  const master = await startRedis([...tls(masterPort), ...login])
  const of = ['--replicaof', '127.0.0.1', String(masterPort)]
  const copy = await startRedis([...tls(copyPort), ...login, ...of])
  const lines = [
    'port 0',
    ...tls(port).flatMap((word, at, all) => (at % 2 ? [] : [`${word.slice(2)} ${all[at + 1]}`])),
    `requirepass ${passwords.sentinel}`,
    `sentinel monitor mill 127.0.0.1 ${masterPort} 1`,
    `sentinel auth-pass mill ${passwords.master}`,
  ]
  const ca = readFileSync(certificate)
  const client = new Redis({ port, tls: { ca }, password: passwords.sentinel })
  const watching = await startSentinel(folder, lines, client)
  const asCopy = () => new Redis({ port: copyPort, tls: { ca }, password: passwords.master })
  await expect.poll(() => linkOf(asCopy()), patient).toBe('up')
  const [word, asking] = [passwords.master, passwords.sentinel].map(encodeURIComponent)
  const url = `rediss+sentinel://:${word}@127.0.0.1:${port}/mill`
  return {
    url: `${url}?sentinel_password=${asking}`,
    silentUrl: url,
    certificate,
    master,
    asCopy,
    close: async () => {
      await watching.close()
      await Promise.all([master.close(), copy.close()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a sentinel, and waits until it knows a replica; before that, it could not promote one. */
async function startSentinel(folder: string, lines: readonly string[], client: Redis) {
  const file = join(folder, 'sentinel.conf')
  const times = ['down-after-milliseconds mill 500', 'failover-timeout mill 2000']
  const all = [`dir ${folder}`, 'bind 127.0.0.1', ...lines, ...times.map((t) => `sentinel ${t}`)]
  writeFileSync(file, `${all.join('\n')}\n`)
  const sentinel = spawn('redis-sentinel', [file], { stdio: 'ignore' })
  const ended = new Promise((done) => sentinel.once('exit', done))
  client.on('error', () => undefined)
  await expect.poll(() => client.call('sentinel', 'replicas', 'mill'), patient).toHaveLength(1)
  return {
    close: async () => {
      client.disconnect()
      sentinel.kill('SIGKILL')
      await ended
    },
  }
}

async function linkOf(client: Redis): Promise<string | undefined> {
  const info = await client.info('replication')
  client.disconnect()
  return /^master_link_status:(\w+)/m.exec(info)?.[1]
}

const slots = 16_384
const size = 3

export async function startCluster() {
  const servers: RedisServer[] = []
  for (let number = 0; number < size; number += 1) {
    const bus = await freePort()
    servers.push(await startRedis(['--cluster-enabled', 'yes', '--cluster-port', String(bus)]))
    await introduce(servers, bus)
  }
  const clients = servers.map(({ port }) => new Redis(port))
  for (const [number, client] of clients.entries()) {
    const [first, next] = [number, number + 1].map((at) => Math.ceil((at * slots) / size))
    await client.call('cluster', 'addslotsrange', String(first), String((next ?? slots) - 1))
  }
  for (const client of clients) {
    await expect.poll(() => client.cluster('INFO'), patient).toContain('cluster_state:ok')
    client.disconnect()
  }
  const nodes = servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
  return {
    url: `redis+cluster://${nodes}`,
    servers,
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  }
}

/** Tells the first server about the newest one. */
async function introduce(servers: readonly RedisServer[], bus: number): Promise<void> {
  const [first, last] = [servers[0], servers.at(-1)]
  if (first === undefined || last === undefined || first === last) return
  const client = new Redis(first.port)
  await client.call('cluster', 'meet', '127.0.0.1', String(last.port), String(bus))
  client.disconnect()
}
