import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Front } from './front.ts'
import { judgeChaos, type Judgement } from './judge.ts'
import { filesHolding } from './leak.ts'
import { floor, frontKnobs, workerSettings } from './strikes.ts'
import { launch, type Program } from './process.ts'
import { Redis } from './redis.ts'
import type { Closers } from '../../shared/closers.ts'
import type { Environment } from '../../shared/config.ts'
import { freePort } from '../../embedded/port.ts'
import { ensurePostgres, postgresStatus, stopPostgres } from '../../embedded/postgres.ts'
import { findPostmaster } from '../../embedded/postmaster.ts'
import { openDatabase, openPool, type Database } from '../../store/database.ts'
import { countUnfinishedTasks, witnessSums, witnessTasks } from '../../store/operator/witness.ts'
import { pause } from '../../shared/waiting.ts'

export interface SiteOptions {
  readonly backend: 'postgres' | 'redis'
  readonly seed: string
  readonly credits: number
  /** Lanes of each worker. */
  readonly lanes: number
  readonly env: Environment
  readonly closers: Closers
  readonly say: (line: string) => void
  /** True: the folder stays, with everything that was said. */
  readonly keep: boolean
}

interface Parts {
  readonly folder: string
  readonly env: Environment
  readonly front: Front
  readonly redis: Redis | null
}

/** A mill of its own in a temporary folder: database, queue, and a stand-in for the API. */
export class Site {
  readonly front: Front
  readonly redis: Redis | null
  readonly #options: SiteOptions
  readonly #folder: string
  readonly #env: Environment
  #waves = 0

  private constructor(options: SiteOptions, { folder, env, front, redis }: Parts) {
    this.#options = options
    this.#folder = folder
    this.#env = env
    this.front = front
    this.redis = redis
  }

  static async open(options: SiteOptions): Promise<Site> {
    const { closers, env, say } = options
    const folder = makeFolder(options)
    const home = join(folder, 'site', 'home')
    closers.add('the database', home, stopPostgres)
    const { url } = await ensurePostgres(home, { say })
    const base = { PATH: env['PATH'], HOME: env['HOME'], TMPDIR: env['TMPDIR'] }
    const front = closers.add('the stand-in', await openFront(options, folder, base), (open) =>
      open.close(),
    )
    const redis = options.backend === 'redis' ? await openRedis(folder, closers) : null
    const settings = {
      ...base,
      ...workerSettings,
      MILL_CONCURRENCY: String(options.lanes),
      DATABASE_URL: url,
      MILL_HOME: home,
      SEARCH_API_URL: front.url,
      SEARCH_API_KEY: front.key,
      ...(redis === null ? {} : { REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
    }
    const site = new Site(options, { folder, env: settings, front, redis })
    await site.command('migrate')
    return site
  }

  /** Starts a command of the mill. */
  start(job: string, args: readonly string[] = []): Program {
    const log = join(this.#folder, 'site', `${job}.log`)
    return launch(job, { args, env: this.#env, log })
  }

  /** Runs a command of the mill to its end; gives back its exit code. */
  async command(job: string, args: readonly string[] = []): Promise<number | null> {
    const program = this.start(job, args)
    const code = await program.ended
    if (code !== 0) this.#options.say(`${job} ended with ${code}: ${lastLine(program)}`)
    return code
  }

  /** More to do. A file that was not taken, for want of a database, is tried again: that is safe. */
  async refill(count: number): Promise<void> {
    const name = `chaos-${this.#waves}`
    const file = join(this.#folder, 'site', `${name}.csv`)
    const queries = Array.from({ length: count }, (_, index) => `${name} query ${index + 1}`)
    writeFileSync(file, `query\n${queries.join('\n')}\n`)
    const code = await this.command('enqueue', [file, '--as', name, '--yes'])
    if (code === 0) this.#waves += 1
  }

  /** Ends the server as a power cut would, and starts it again: it recovers from its log. */
  async restartDatabase(awayMs: number): Promise<void> {
    const home = this.#env['MILL_HOME'] ?? ''
    const { data } = await postgresStatus(home)
    const found = data === null ? null : findPostmaster(data)
    if (found !== null && data !== null) {
      process.kill(found.pid, 'SIGQUIT')
      while (findPostmaster(data) !== null) await pause(20)
    }
    await pause(awayMs)
    await ensurePostgres(home)
  }

  /** Tasks that are not bought yet; null while the database is away, as it is meant to be. */
  async openTasks(): Promise<number | null> {
    try {
      return await this.#ask(countUnfinishedTasks)
    } catch {
      return null
    }
  }

  async judge(accidents: readonly string[]): Promise<Judgement> {
    return judgeChaos({
      books: await this.front.books(),
      tasks: await this.#ask(witnessTasks),
      sums: await this.#ask(witnessSums),
      floor,
      accidents,
      leaks: filesHolding(join(this.#folder, 'site'), this.front.key),
    })
  }

  /** A connection for each question: a lasting one would break with each restart of the server. */
  async #ask<T>(question: (db: Database) => Promise<T>): Promise<T> {
    const db = openDatabase(openPool(this.#env['DATABASE_URL'] ?? '', { name: 'chaos', max: 1 }))
    try {
      return await question(db)
    } finally {
      await db.destroy()
    }
  }
}

function makeFolder({ closers, keep, say }: SiteOptions): string {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-chaos-'))
  closers.add('the folder', folder, async (path) => {
    if (keep) say(`everything is kept in ${path}`)
    else rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  })
  const home = join(folder, 'site', 'home')
  mkdirSync(home, { recursive: true })
  // The server of the database may run as a user of its own, which has to be let into the folder.
  for (const path of [folder, join(folder, 'site'), home]) chmodSync(path, 0o711)
  return folder
}

/** Its words hold the key, so they are kept outside of the folder that is searched for the key. */
async function openFront(
  { seed, credits }: SiteOptions,
  folder: string,
  env: Environment,
): Promise<Front> {
  const args = ['--faults', JSON.stringify(frontKnobs(seed, credits))]
  const log = join(folder, 'front.log')
  return Front.open(launch('service', { args, env, log }))
}

async function openRedis(folder: string, closers: Closers): Promise<Redis> {
  const redis = await Redis.open(await freePort(), join(folder, 'site', 'redis'))
  return closers.add('redis', redis, (open) => open.close())
}

function lastLine(program: Program): string {
  return program.lastWords().trimEnd().split('\n').slice(-2).join(' ').slice(-300)
}
