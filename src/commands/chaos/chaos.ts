import { Crew } from './crew.ts'
import type { Judgement, Strikes } from './judge.ts'
import { leaseMs, luckOf, openPack, type Strike } from './strikes.ts'
import { Site, type SiteOptions } from './site.ts'
import { unhandled } from '../../shared/errors.ts'
import { pause } from '../../shared/waiting.ts'

export interface ChaosOptions extends Omit<SiteOptions, 'credits'> {
  readonly seconds: number
  readonly workers: number
}

export interface Chaos {
  readonly judgement: Judgement
  readonly strikes: Strikes
  /** False: a check of `verify` found a promise broken. */
  readonly verified: boolean
  readonly seconds: number
}

const credits = 400
const moreCredits = 600
const plenty = 1_000_000
const wave = 400
const healWithinMs = 300_000

/** Faults on purpose for some seconds, then peace until every task has ended, then the reckoning. */
export async function runChaos(options: ChaosOptions): Promise<Chaos> {
  const began = performance.now()
  const site = await Site.open({ ...options, credits })
  await site.refill(wave)
  const crew = new Crew(options.workers, () => site.start('work'))
  const torment = new Torment(site, crew, options)
  await torment.last(options.seconds * 1_000)
  options.say('peace: nothing fails any more, and there is credit')
  await heal(site, crew, options.say)
  const verified = (await site.command('verify')) === 0
  const judgement = await site.judge(crew.accidents)
  const seconds = Math.round((performance.now() - began) / 1_000)
  return { judgement, strikes: torment.strikes, verified, seconds }
}

/** Strikes at random while the mill works, runs dry, and is given more to do and to spend. */
class Torment {
  readonly strikes: Strikes = {
    kills: 0,
    freezes: 0,
    farewells: 0,
    databaseRestarts: 0,
    redisRestarts: 0,
    flushes: 0,
  }
  readonly #site: Site
  readonly #crew: Crew
  readonly #luck: () => number
  #restart: Promise<void> | null = null

  constructor(site: Site, crew: Crew, { seed }: ChaosOptions) {
    this.#site = site
    this.#crew = crew
    this.#luck = luckOf(seed)
  }

  async last(ms: number): Promise<void> {
    const end = performance.now() + ms
    const left = () => Math.max(0, end - performance.now())
    const feeding = this.#feed(left)
    const draw = openPack(this.#luck, this.#site.redis !== null)
    // Workers take some seconds to start, and the first calls of a new account are few.
    await pause(Math.min(6_000, left() / 4))
    while (left() > 0) {
      this.#strike(draw())
      await pause(Math.min(left(), 1_000 + this.#luck() * 3_000))
    }
    await feeding
    await this.#restart
  }

  /** Credit comes when nothing is bought any more: the floor is met again and again. Work comes before it runs out. */
  async #feed(left: () => number): Promise<void> {
    let charged = 0
    while (left() > 0) {
      await pause(Math.min(3_000, left()))
      const open = await this.#site.openTasks()
      if (open !== null && open < wave) await this.#site.refill(wave)
      const sums = await this.#site.front.sums()
      const still = sums.charged === charged
      charged = sums.charged
      // The first stop is left to come by itself: nothing is held yet, and the floor is met closely.
      if (!still || charged === 0) continue
      await this.#site.front.set({ credits: sums.balance + moreCredits })
      await this.#site.command('resume')
    }
  }

  #strike(name: Strike): void {
    const whom = Math.floor(this.#luck() * 1_000)
    const size = this.#luck()
    if (this.#do(name, whom, size)) this.strikes[name] += 1
  }

  #do(name: Strike, whom: number, size: number): boolean {
    switch (name) {
      case 'kills':
        return this.#crew.kill(whom)
      case 'freezes':
        return this.#crew.freeze(whom, leaseMs * (0.4 + 1.6 * size))
      case 'farewells':
        return this.#crew.dismiss(whom)
      case 'databaseRestarts':
        return this.#once(() => this.#site.restartDatabase(size * 2_000))
      case 'redisRestarts':
        return this.#once(async () => this.#site.redis?.restart(size * 2_000))
      case 'flushes':
        return this.#once(async () => this.#site.redis?.flush())
      default:
        throw unhandled('strike', name)
    }
  }

  /** One store at a time, while workers go on being struck. */
  #once(restart: () => Promise<void>): boolean {
    if (this.#restart !== null) return false
    this.#restart = restart().finally(() => {
      this.#restart = null
    })
    return true
  }
}

async function heal(site: Site, crew: Crew, say: (line: string) => void): Promise<void> {
  await site.front.set({ faults: [], credits: plenty })
  await site.command('resume')
  const end = performance.now() + healWithinMs
  let saidAt = 0
  for (;;) {
    const open = await site.openTasks()
    if (open === 0 || performance.now() > end || crew.accidents.length > 5) break
    if (performance.now() - saidAt > 15_000) {
      saidAt = performance.now()
      say(`${open ?? 'nobody knows how many'} tasks are open`)
    }
    await pause(500)
  }
  await crew.end()
  // Workers that ended just now may have left answers in files: this one settles them.
  await site.command('work', ['--drain'])
}
