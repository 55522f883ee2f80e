// The database, the queue and the disk of a site, which tests kill, empty and fill.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, statfsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { Redis as RedisClient } from 'ioredis'
import { type Database, openDatabase, openPool } from '../../src/base/database/database.ts'
import {
  ensurePostgres,
  findPostmaster,
  postgresStatus,
  stopPostgres,
} from '../../src/base/embedded/postgres.ts'
import { Unreachable } from '../../src/base/errors.ts'
import { type Closers, pause } from '../../src/base/waiting.ts'

const copy = 'earlier'
const mostJobs = 80

/** The embedded PostgreSQL of a site, which can be killed and restored to an earlier state. */
export class DatabaseServer {
  readonly url: string
  readonly #home: string

  private constructor(home: string, url: string) {
    this.#home = home
    this.url = url
  }

  static async open(
    home: string,
    { closers, say }: { closers: Closers; say: (line: string) => void },
  ): Promise<DatabaseServer> {
    closers.add('the database', home, stopPostgres)
    const { url } = await ensurePostgres(home, { say })
    return new DatabaseServer(home, url)
  }

  /** Kills the server as in a power cut and starts it again; it recovers from its log. */
  async restart(awayMs: number): Promise<void> {
    const { data } = await postgresStatus(this.#home)
    const found = data === null ? null : findPostmaster(data)
    if (found !== null && data !== null) {
      process.kill(found.pid, 'SIGQUIT')
      while (findPostmaster(data) !== null) await pause(20)
    }
    await pause(awayMs)
    await this.ensure()
  }

  /** Starts the server if it has stopped, for example because of a full disk. */
  async ensure(): Promise<void> {
    await ensurePostgres(this.#home)
  }

  /** Stores a copy of the current state. */
  async remember(): Promise<void> {
    await replaceDatabase(this.url, { from: this.#name, to: copy })
  }

  /** Replaces the current state with the copy. */
  async setBack(): Promise<void> {
    await replaceDatabase(this.url, { from: copy, to: this.#name })
  }

  /** Opens a new connection for each query, because a permanent one would break whenever the server restarts. */
  async ask<T>(question: (db: Database) => Promise<T>): Promise<T> {
    const db = openDatabase(openPool(this.url, { name: 'chaos', max: 1 }))
    try {
      return await question(db)
    } finally {
      await db.destroy()
    }
  }

  get #name(): string {
    return new URL(this.url).pathname.slice(1)
  }
}

/** A separate Redis that can be killed and emptied. */
export class Redis {
  readonly port: number
  readonly #folder: string
  #child: ChildProcess | null = null

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  private constructor(port: number, folder: string) {
    this.port = port
    this.#folder = folder
  }

  static async open(port: number, folder: string): Promise<Redis> {
    mkdirSync(folder, { recursive: true })
    const redis = new Redis(port, folder)
    await redis.#start()
    return redis
  }

  /** Kills Redis as in a power cut and starts it again; data that was not yet on disk is lost. */
  async restart(awayMs: number): Promise<void> {
    await this.#end('SIGKILL')
    await pause(awayMs)
    await this.#start()
  }

  /** Deletes every job. */
  async flush(): Promise<void> {
    await this.#ask('FLUSHALL')
  }

  /** The first jobs of all queues: their data, their set, and how long they are locked. */
  async jobs(): Promise<readonly unknown[]> {
    const client = new RedisClient(this.url)
    try {
      const found: unknown[] = []
      for (const key of (await client.keys('*:s-*')).filter((name) => !name.endsWith(':lock'))) {
        if (found.length === mostJobs) break
        const id = key.slice(key.lastIndexOf(':') + 1)
        const queue = key.slice(0, -id.length)
        const [active, waiting, delayed, prioritized] = await Promise.all([
          client.lpos(`${queue}active`, id),
          client.lpos(`${queue}wait`, id),
          client.zscore(`${queue}delayed`, id),
          client.zscore(`${queue}prioritized`, id),
        ])
        const lockedMs = await client.pttl(`${key}:lock`)
        const { ats = '', processedOn = '' } = await client.hgetall(key)
        found.push({
          id,
          active,
          waiting,
          delayed,
          prioritized,
          lockedMs,
          attempts: ats,
          processedOn,
        })
      }
      return found
    } finally {
      client.disconnect()
    }
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM')
  }

  async #start(): Promise<void> {
    const words = `--port ${this.port} --bind 127.0.0.1 --appendonly yes --maxmemory-policy noeviction`
    const args = [...words.split(' '), '--dir', this.#folder, '--save', '']
    const child = spawn('redis-server', args, { stdio: 'ignore' })
    this.#child = child
    let missing = false
    child.once('error', () => {
      missing = true
    })
    for (let tries = 0; tries < 200; tries += 1) {
      if (missing) break
      await pause(50)
      if ((await this.#ask('PING').catch(() => '')).startsWith('+PONG')) return
    }
    throw new Unreachable(
      `expected redis-server to answer on port ${this.port}, got nothing; install it, or use --backend postgres`,
    )
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }

  #ask(command: string): Promise<string> {
    return new Promise((done, fail) => {
      const socket = createConnection({ port: this.port, host: '127.0.0.1' })
      socket.setEncoding('utf8')
      socket.once('connect', () => socket.write(`${command}\r\n`))
      socket.once('data', (answer: string) => {
        socket.destroy()
        done(answer)
      })
      socket.once('error', fail)
    })
  }
}

/** Size of a file system in memory, which takes up memory only for written data. */
const roomy = '4g'
const spareBytes = 128 * 1_024
const mostSpareBytes = 64 * 1_024 * 1_024

/** Folder with all site data, which can be made full. */
export interface Disk {
  /** Leaves almost no space from now on. */
  readonly fill: () => void
  readonly free: () => void
}

/**
 * A separate file system for a folder if the system allows it; otherwise a folder that refuses writes; null if neither
 * is possible.
 */
export function openDisk(
  folder: string,
  { closers, keep }: { closers: Closers; keep: boolean },
): Disk | null {
  if (process.getuid?.() !== 0) return refusing(folder)
  const options = (size: string | number) => ['-o', `size=${size},mode=0711`, 'tmpfs', folder]
  if (!mount(['-t', 'tmpfs', ...options(roomy)])) return null
  closers.add('the disk', folder, async () => {
    if (keep) cpSync(folder, `${folder}-kept`, { recursive: true })
    spawnSync('umount', ['--lazy', folder])
  })
  const resize = (size: string | number) => mount(['-o', 'remount', ...options(size)])
  const refuse = () => {
    throw new Error(`expected ${folder} to resize`)
  }
  return {
    fill: () => {
      // Files written in the meantime may have used the measured space. A file system is never made smaller than its
      // content.
      for (let spare = spareBytes; spare <= mostSpareBytes; spare *= 2) {
        const { blocks, bfree, bsize } = statfsSync(folder)
        if (resize((blocks - bfree) * bsize + spare)) return
      }
      refuse()
    },
    free: () => {
      if (!resize(roomy)) refuse()
    },
  }
}

/** Without permission to mount a file system, the folder of paid answers refuses writes. This would not stop root. */
function refusing(folder: string): Disk | null {
  if (process.platform === 'win32') return null
  const spool = join(folder, 'spool')
  mkdirSync(spool, { recursive: true, mode: 0o700 })
  return { fill: () => chmodSync(spool, 0o500), free: () => chmodSync(spool, 0o700) }
}

function mount(args: readonly string[]): boolean {
  return process.platform === 'linux' && spawnSync('mount', args).status === 0
}

/**
 * Replaces one database with a copy of another, like a restored dump. All connections to either are closed, and none is
 * accepted until the replacement is done.
 */
export async function replaceDatabase(
  server: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const admin = openPool(Object.assign(new URL(server), { pathname: '/postgres' }).href, {
    name: 'chaos',
    max: 1,
  })
  try {
    await admin.query(`alter database ${named(from)} allow_connections false`)
    await admin.query(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1',
      [from],
    )
    await admin.query(`drop database if exists ${named(to)} with (force)`)
    await admin.query(`create database ${named(to)} template ${named(from)}`)
    // A sequence in the copy assumes that its next numbers are already logged, and would issue them again after a
    // crash. A checkpoint makes it read them again.
    await admin.query('checkpoint')
  } finally {
    await admin.query(`alter database ${named(from)} allow_connections true`)
    await admin.end()
  }
}

function named(database: string): string {
  return `"${database.replaceAll('"', '""')}"`
}
