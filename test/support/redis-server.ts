// The Redis for a test run: a redis-server on a free port on this machine, if the program is installed.
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/base/embedded/process.ts'
import { endAfterUs } from './leftovers.ts'
import { has } from './parts.ts'
import { temporaryFolder } from './place.ts'

export interface RedisServer {
  readonly port: number
  readonly pid: number
  /** Kills Redis, as in a power cut. */
  readonly kill: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Null if this machine has no redis-server. */
export async function openRedis(): Promise<RedisServer | null> {
  return has('redis-server') ? startRedis() : null
}

/** Starts a separate Redis, for tests that kill or fill it. */
export async function startRedis(extra: readonly string[] = []): Promise<RedisServer> {
  const port = await freePort()
  const folder = temporaryFolder('redis')
  const child = spawn(
    'redis-server',
    // prettier-ignore
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no',
      '--maxmemory-policy', 'noeviction', '--databases', '10000', ...extra],
    { stdio: 'ignore' },
  )
  endAfterUs(folder, child.pid)
  const ended = new Promise<void>((done) => {
    child.once('exit', () => done())
    child.once('error', () => done())
  })
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  for (const deadline = Date.now() + 20_000; !(await answers(port)); await sleep(20)) {
    if (child.exitCode === null && child.pid !== undefined && Date.now() < deadline) continue
    await end('SIGKILL')
    throw new Error(`expected redis-server to answer on port ${port}, got silence`)
  }
  return {
    port,
    pid: child.pid ?? 0,
    kill: () => end('SIGKILL'),
    close: () => end('SIGTERM'),
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = createConnection({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'))
    const tell = (answer: boolean) => {
      socket.destroy()
      done(answer)
    }
    socket.once('data', (data) => tell(/^(\+PONG|-NOAUTH)/.test(data.toString())))
    socket.once('error', () => tell(false))
  })
}
