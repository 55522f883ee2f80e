import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew } from './chaos/crew.ts'
import { Front } from './chaos/front.ts'
import { judgeChaos, type Judgement, type Strikes } from './chaos/judge.ts'
import { filesHolding } from './chaos/leak.ts'
import {
  drawStrike,
  faults,
  floor,
  frontKnobs,
  leaseMs,
  luckOf,
  workerSettings,
} from './chaos/plan.ts'
import { startProgram, type Program } from './chaos/program.ts'
import { Redis } from './chaos/redis.ts'
import type { Closers } from './closers.ts'
import type { Environment } from './config.ts'
import { freePort } from './embedded/port.ts'
import { ensurePostgres, postgresStatus, stopPostgres } from './embedded/postgres.ts'
import { findPostmaster } from './embedded/postmaster.ts'
import { openDatabase, openPool } from './store/database.ts'
import { countOpenTasks, witnessSums, witnessTasks } from './store/oracle.ts'

export interface ChaosOptions {
  readonly seconds: number
  readonly backend: 'postgres' | 'redis'
  readonly workers: number
  readonly seed: string
  readonly env: Environment
  readonly closers: Closers
  readonly say: (line: string) => void
}

export interface Chaos {
  readonly judgement: Judgement
  readonly strikes: Strikes
  /** False: a check of `verify` found a promise broken. */
  readonly verified: boolean
  readonly seconds: number
}

const firstCredits = 700
const moreCredits = 1_500
const healingCredits = 1_000_000
const wave = 400
const healWithinMs = 300_000

/** Faults on purpose for some seconds, then peace until every task has ended, then the reckoning. */
export async function runChaos(options: ChaosOptions): Promise<Chaos> {
  const began = performance.now()
  const site = await Site.open(options)
  const crew = new Crew(options.workers, () => site.start('work'))
  await site.torment(crew)
  options.say('peace: nothing fails any more, and there is credit')
  await site.heal(crew)
  const verified = await site.command('verify')
  const judgement = await site.judge(crew)
  const seconds = Math.round((performance.now() - began) / 1000)
  return { judgement, strikes: site.strikes, verified: verified === 0, seconds }
}

/** A mill of its own in a temporary folder: database, queue, stand-in for the API, workers. */
class Site {
  readonly strikes: Strikes = {
    kills: 0,
    freezes: 0,
    farewells: 0,
    databaseRestarts: 0,
    redisRestarts: 0,
    flushes: 0,
  }
  readonly #options: ChaosOptions
  readonly #folder: string
  readonly #env: Environment
  readonly #front: Front
  readonly #redis: Redis | null
  readonly #luck: () => number
  #waves = 0

  private constructor(
    options: ChaosOptions,
    parts: { folder: string; env: Environment; front: Front; redis: Redis | null },
  ) {
    this.#options = options
    this.#folder = parts.folder
    this.#env = parts.env
    this.#front = parts.front
    this.#redis = parts.redis
    this.#luck = luckOf(options.seed)
  }

  static async open(options: ChaosOptions): Promise<Site> {
    const { closers, env } = options
    const folder = mkdtempSync(join(tmpdir(), 'querymill-chaos-'))
    closers.add('the folder', folder, async (path) =>
      rmSync(path, { recursive: true, force: true, maxRetries: 5 }),
    )
    // The database's server runs as a user of its own, which has to find its way in.
    const home = join(folder, 'site', 'home')
    mkdirSync(home, { recursive: true })
    for (const path of [folder, join(folder, 'site'), home]) chmodSync(path, 0o711)
    closers.add('the database', home, stopPostgres)
    const { url } = await ensurePostgres(home, { say: options.say })
    const base = { PATH: env['PATH'], HOME: env['HOME'], TMPDIR: env['TMPDIR'] }
    const front = await openFront(options, { folder, base })
    const redis = options.backend === 'redis' ? await openRedis(folder) : null
    if (redis !== null) closers.add('redis', redis, (open) => open.close())
    const settings = {
      ...base,
      ...workerSettings,
      DATABASE_URL: url,
      MILL_HOME: home,
      SEARCH_API_URL: front.url,
      SEARCH_API_KEY: front.key,
      ...(redis === null ? {} : { REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
    }
    const site = new Site(options, { folder, env: settings, front, redis })
    await site.command('migrate')
    await site.#refill()
    return site
  }

  start(job: string, args: readonly string[] = []): Program {
    const log = join(this.#folder, 'site', `${job}.log`)
    return startProgram(job, { args, env: this.#env, log })
  }

  async command(job: string, args: readonly string[] = []): Promise<number | null> {
    const program = this.start(job, args)
    const code = await program.ended
    if (code !== 0)
      this.#options.say(`${job} ended with ${code}: ${program.lastWords().slice(-900)}`)
    return code
  }

  /** Strikes at random while the mill works, runs dry, and is given more to do and to spend. */
  async torment(crew: Crew): Promise<void> {
    const end = performance.now() + this.#options.seconds * 1000
    const left = () => end - performance.now()
    const feeding = this.#feed(left)
    // The first calls of a new account are few: they are given a moment.
    await sleep(Math.min(6_000, left() / 4))
    while (left() > 0) {
      await this.#strike(crew)
      await sleep(Math.min(Math.max(0, left()), 700 + this.#luck() * 2_000))
    }
    await feeding
  }

  /** Credit comes by and by, so that the floor is met again and again; work comes before it runs out. */
  async #feed(left: () => number): Promise<void> {
    while (left() > 0) {
      await sleep(Math.min(4_000, left()))
      if ((await this.#openTasks()) < wave) await this.#refill()
      await this.#renew(moreCredits)
    }
  }

  async #renew(credits: number): Promise<void> {
    if ((await this.#front.balance()) > floor + 200) return
    await this.#front.set({ credits: credits + floor })
    await this.command('resume')
  }

  async #refill(): Promise<void> {
    const name = `chaos-${this.#waves}`
    const file = join(this.#folder, 'site', `${name}.csv`)
    const queries = Array.from({ length: wave }, (_, index) => `${name} query ${index + 1}`)
    writeFileSync(file, `query\n${queries.join('\n')}\n`)
    // A file that was not taken, for want of a database, is tried again: that is safe.
    if ((await this.command('enqueue', [file, '--as', name, '--yes'])) === 0) this.#waves += 1
  }

  async #strike(crew: Crew): Promise<void> {
    const name = drawStrike(this.#luck(), this.#redis !== null)
    const whom = Math.floor(this.#luck() * 1_000)
    const size = this.#luck()
    if (await this.#do(name, { crew, whom, size })) this.strikes[name] += 1
  }

  async #do(
    name: keyof Strikes,
    { crew, whom, size }: { crew: Crew; whom: number; size: number },
  ): Promise<boolean> {
    switch (name) {
      case 'kills':
        return crew.kill(whom)
      case 'freezes':
        return crew.freeze(whom, leaseMs * (0.4 + 1.6 * size))
      case 'farewells':
        return crew.dismiss(whom)
      case 'databaseRestarts':
        await this.#restartDatabase(size * 2_000)
        return true
      case 'redisRestarts':
        await this.#redis?.restart(size * 2_000)
        return true
      case 'flushes':
        await this.#redis?.flush()
        return true
      default:
        throw new Error(`unhandled strike ${String(name satisfies never)}`)
    }
  }

  /** As a power cut: no farewell, and the log is read again at the start. */
  async #restartDatabase(awayMs: number): Promise<void> {
    const home = this.#env['MILL_HOME'] ?? ''
    const { data } = await postgresStatus(home)
    const found = data === null ? null : findPostmaster(data)
    if (found !== null && data !== null) {
      process.kill(found.pid, 'SIGQUIT')
      while (findPostmaster(data) !== null) await sleep(20)
    }
    await sleep(awayMs)
    await ensurePostgres(home)
  }

  async heal(crew: Crew): Promise<void> {
    await this.#front.set({ faults: faults.slice(0, 0), credits: healingCredits })
    await this.command('resume')
    const end = performance.now() + healWithinMs
    let told = 0
    for (let open = await this.#openTasks(); open > 0; open = await this.#openTasks()) {
      if (performance.now() > end || crew.accidents.length > 5) break
      if (performance.now() - told > 15_000) {
        told = performance.now()
        this.#options.say(`${open} tasks are open`)
      }
      await sleep(500)
    }
    await crew.end()
    // What the last farewells left in files is settled by whoever works next.
    await this.command('work', ['--drain'])
  }

  async #openTasks(): Promise<number> {
    const pool = openPool(this.#env['DATABASE_URL'] ?? '', { name: 'chaos', max: 1 })
    const db = openDatabase(pool)
    try {
      return await countOpenTasks(db)
    } catch {
      // The database is away, as it is meant to be: nothing is known, so nothing is done.
      return Number.MAX_SAFE_INTEGER
    } finally {
      await db.destroy()
    }
  }

  async judge(crew: Crew): Promise<Judgement> {
    const pool = openPool(this.#env['DATABASE_URL'] ?? '', { name: 'chaos', max: 1 })
    const db = openDatabase(pool)
    try {
      return judgeChaos({
        books: await this.#front.books(),
        tasks: await witnessTasks(db),
        sums: await witnessSums(db),
        floor,
        accidents: crew.accidents,
        leaks: filesHolding(join(this.#folder, 'site'), this.#front.key),
      })
    } finally {
      await db.destroy()
    }
  }
}

async function openFront(
  { closers, seed }: ChaosOptions,
  { folder, base }: { folder: string; base: Environment },
): Promise<Front> {
  const knobs = JSON.stringify(frontKnobs(seed, firstCredits))
  const log = join(folder, 'front.log')
  const program = startProgram('service', { args: ['--faults', knobs], env: base, log })
  const front = await Front.open(program)
  return closers.add('the stand-in', front, (open) => open.close())
}

async function openRedis(folder: string): Promise<Redis> {
  return Redis.open(await freePort(), join(folder, 'site', 'redis'))
}
