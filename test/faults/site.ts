import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../../src/base/config.ts'
import { freePort } from '../../src/base/embedded/process.ts'
import type { Closers } from '../../src/base/waiting.ts'
import { Seat } from './crew.ts'
import { Front, settingsOf, type Wallet } from './front.ts'
import { findClockShifter, launch, type Program } from './program.ts'
import { DatabaseServer, type Disk, openDisk, Redis } from './servers.ts'
import { frontKnobs, workerSettings } from './strikes.ts'
import { countUnfinishedTasks } from './witness.ts'

export interface SiteOptions {
  readonly backend: 'postgres' | 'redis'
  readonly seed: string
  readonly credits: number
  readonly workers: number
  /** Lanes per worker. */
  readonly lanes: number
  readonly env: Environment
  readonly closers: Closers
  readonly say: (line: string) => void
  /** If true, the folder with all output is kept. */
  readonly keep: boolean
  /** If true, the API supports `Idempotency-Key`. */
  readonly replays: boolean
  /**
   * If true, the API reports wrong prices and answers other queries, other programs spend from the accounts, and keys
   * change.
   */
  readonly lying: boolean
}

interface Parts {
  readonly folder: string
  readonly env: Environment
  readonly database: DatabaseServer
  readonly disk: Disk | null
  readonly redis: Redis | null
  readonly wallets: readonly [Wallet, Wallet]
  readonly clockShifter: string | null
}

/** Every fourth list has a budget, which two accounts share. */
const budgetedWave = 4
const waveBudget = '150'

/**
 * A separate installation in a temporary folder: database, queue, and two accounts, each with a stand-in for the API.
 */
export class Site {
  readonly folder: string
  readonly database: DatabaseServer
  readonly disk: Disk | null
  readonly redis: Redis | null
  readonly wallets: readonly [Wallet, Wallet]
  readonly clockShifter: string | null
  readonly #options: SiteOptions
  readonly #env: Environment
  #waves = 0

  private constructor(options: SiteOptions, parts: Parts) {
    this.#options = options
    this.folder = parts.folder
    this.#env = parts.env
    this.database = parts.database
    this.disk = parts.disk
    this.redis = parts.redis
    this.wallets = parts.wallets
    this.clockShifter = parts.clockShifter
  }

  static async open(options: SiteOptions): Promise<Site> {
    const { closers, env, say, backend } = options
    const folder = makeFolder(options)
    const home = join(folder, 'site', 'home')
    const disk = openDisk(home, options)
    const database = await DatabaseServer.open(home, { closers, say })
    const base = { PATH: env['PATH'], HOME: env['HOME'], TMPDIR: env['TMPDIR'] }
    const first = await openPurse(options, { name: 'first', folder, env: base })
    const second = await openPurse(options, { name: 'second', folder, env: base })
    const redis = backend === 'redis' ? await openRedis(join(home, 'redis'), closers) : null
    const settings = {
      ...base,
      ...workerSettings,
      MILL_CONCURRENCY: String(options.lanes),
      DATABASE_URL: database.url,
      MILL_HOME: home,
      ...(redis === null ? {} : { REDIS_URL: redis.url }),
    }
    const site = new Site(options, {
      ...{ folder, env: settings, database, disk, redis },
      ...{ wallets: [first, second], clockShifter: findClockShifter() },
    })
    await site.command('migrate')
    return site
  }

  /** Places for the workers, half of them for each account. */
  seats(): Promise<readonly Seat[]> {
    return Promise.all(
      Array.from({ length: this.#options.workers }, async (_, number) => {
        const file = join(this.folder, `clock-${number}`)
        const library = this.clockShifter
        const seat = await Seat.open({
          wallet: this.wallets[number % 2] ?? this.wallets[0],
          databaseUrl: this.database.url,
          redisUrl: this.redis?.url ?? null,
          clock: library === null ? null : { file, library },
        })
        return this.#options.closers.add('a seat', seat, (open) => open.close())
      }),
    )
  }

  /** Starts a worker at a place. */
  hire(seat: Seat): Program {
    return this.#start('work', { ...settingsOf(seat.wallet), ...seat.env })
  }

  /** Runs a command to completion for an account; returns its exit code. */
  async command(
    job: string,
    args: readonly string[] = [],
    wallet: Wallet = this.wallets[0],
  ): Promise<number | null> {
    const program = this.#start(job, settingsOf(wallet), args)
    const code = await program.ended
    // The violated check is in the middle of verify's output.
    const said = job === 'verify' ? program.lastWords() : lastLine(program)
    if (code !== 0) this.#options.say(`${job} ended with ${code}: ${said}`)
    return code
  }

  /** Adds tasks. A file that was not read because the database was unreachable can safely be enqueued again. */
  async refill(count: number): Promise<void> {
    const name = `chaos-${this.#waves}`
    const file = join(this.folder, 'site', `${name}.csv`)
    const queries = Array.from({ length: count }, (_, index) => `${name} query ${index + 1}`)
    writeFileSync(file, `query\n${queries.join('\n')}\n`)
    const budget = this.#waves % budgetedWave === 1 ? ['--budget', waveBudget] : []
    const code = await this.command('enqueue', [file, '--as', name, '--yes', ...budget])
    if (code === 0) this.#waves += 1
  }

  /** Gives the next list a new name, because the tables may have lost the last list, but the API has not. */
  skipWave(): void {
    this.#waves += 1
  }

  /** Tasks that are not bought yet; null while the database is unreachable on purpose. */
  async openTasks(): Promise<number | null> {
    try {
      return await this.database.ask(countUnfinishedTasks)
    } catch {
      return null
    }
  }

  #start(job: string, env: Environment, args: readonly string[] = []): Program {
    const log = join(this.folder, 'site', `${job}.log`)
    return launch(job, { args, env: { ...this.#env, ...env }, log })
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
  // The database server may run as another user, who needs access to the folder.
  for (const path of [folder, join(folder, 'site'), home]) chmodSync(path, 0o711)
  return folder
}

/** A stand-in's output contains its key, so it is stored outside the folder that is searched for keys. */
async function openPurse(
  { seed, credits, closers, replays, lying }: SiteOptions,
  { name, folder, env }: { name: string; folder: string; env: Environment },
): Promise<Wallet> {
  const knobs = { ...frontKnobs(`${seed} ${name}`, { credits, lying }), replays }
  const args = ['--faults', JSON.stringify(knobs)]
  const log = join(folder, `${name}.log`)
  const front = await Front.open(launch('stand-in', { args, env, log }))
  return { name, front: closers.add('the stand-in', front, (open) => open.close()) }
}

async function openRedis(folder: string, closers: Closers): Promise<Redis> {
  const redis = await Redis.open(await freePort(), folder)
  return closers.add('redis', redis, (open) => open.close())
}

function lastLine(program: Program): string {
  return program.lastWords().trimEnd().split('\n').slice(-2).join(' ').slice(-300)
}
