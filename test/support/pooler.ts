// const pooler = await openPooler(databaseUrl, 'session') → { url, close }: Debian's PgBouncer in front of that
// database, on its own port.
import { spawn } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/base/embedded/process.ts'
import { pgbouncer } from './parts.ts'
import { temporaryFolder } from './place.ts'

const nobody = 65_534

/** As its package is configured: no connection parameter is ignored. */
function settingsOf(server: URL, { port, mode }: { port: number; mode: string }): string {
  const { hostname, username, password } = server
  const words = [`host=${hostname}`, `port=${server.port}`, `user=${decodeURIComponent(username)}`]
  if (password !== '') words.push(`password=${decodeURIComponent(password)}`)
  return `[databases]
* = ${words.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
auth_file = /dev/null
pool_mode = ${mode}
`
}

export async function openPooler(
  databaseUrl: string,
  mode: 'session' | 'transaction' | 'statement',
): Promise<{ url: string; close: () => Promise<void> }> {
  const folder = temporaryFolder('pooler')
  const port = await freePort()
  const url = Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) })
  const own = join(folder, 'own')
  mkdirSync(own)
  const file = join(own, 'pgbouncer.ini')
  writeFileSync(file, settingsOf(new URL(databaseUrl), { port, mode }))
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  if ('uid' in user) for (const path of [own, file]) chownSync(path, nobody, nobody)
  const child = spawn(pgbouncer, ['--quiet', file], { cwd: '/', stdio: 'ignore', ...user })
  const ended = new Promise((done) => child.once('exit', done))
  const close = async () => {
    child.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  for (const deadline = Date.now() + 20_000; !(await listens(port)); await sleep(20)) {
    if (child.exitCode === null && Date.now() < deadline) continue
    await close()
    throw new Error(`expected PgBouncer to listen on port ${port}, got silence`)
  }
  return { url: url.href, close }
}

function listens(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}
