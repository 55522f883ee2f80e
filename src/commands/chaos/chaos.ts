import { join } from 'node:path'
import { explainStand, lookAtFleet } from './able.ts'
import { Crew } from './crew.ts'
import { judgeChaos, type Judgement } from './judge.ts'
import { filesHolding } from './leak.ts'
import { Site, type SiteOptions } from './site.ts'
import { floor, longestStandMs, luckOf, type Strike, type Strikes } from './strikes.ts'
import { Torment, wave } from './torment.ts'
import { Lookout } from './lookout.ts'
import { pause } from '../../shared/waiting.ts'
import {
  witnessBudgets,
  witnessPurses,
  witnessSums,
  witnessTasks,
} from '../../store/operator/witness.ts'

export interface ChaosOptions extends Omit<SiteOptions, 'credits'> {
  readonly seconds: number
}

export interface Chaos {
  readonly judgement: Judgement
  readonly strikes: Strikes
  /** What this system cannot do to the mill, a sentence each. */
  readonly notDone: readonly string[]
  /** False: a check of `verify` found a promise broken. */
  readonly verified: boolean
  readonly seconds: number
}

const credits = 400
const plenty = 1_000_000
const healWithinMs = 300_000

/** Faults on purpose for some seconds, then peace until every task has ended, then the reckoning. */
export async function runChaos(options: ChaosOptions): Promise<Chaos> {
  const began = performance.now()
  const site = await Site.open({ ...options, credits })
  await site.refill(wave)
  const seats = await site.seats()
  const crew = new Crew({
    seats,
    hire: (seat) => site.hire(seat),
    mayEnd: (code) => torment.mayEnd(code),
  })
  const { impossible, notDone } = limitsOf(site)
  const { say, seed } = options
  const torment = new Torment({ site, crew, luck: luckOf(seed), impossible, say })
  const look = async () => (torment.disturbed ? null : lookAtFleet(site, crew))
  const explain = () => explainStand(site, crew)
  const lookout = new Lookout({ look, everyMs: 250, limitMs: longestStandMs, say, explain })
  await torment.last(options.seconds * 1_000)
  say('peace: nothing fails any more, and there is credit')
  for (const seat of seats) seat.calm()
  await heal(site, crew, say)
  lookout.stop()
  await crew.end()
  // Workers that ended just now may have left answers in files: these settle them.
  for (const wallet of site.wallets) await site.command('work', ['--drain'], wallet)
  const verified = (await site.command('verify')) === 0
  const { replays } = options
  const judgement = await judge(site, { torment, crew, lookout, replays })
  const seconds = Math.round((performance.now() - began) / 1_000)
  return { judgement, strikes: torment.strikes, notDone, verified, seconds }
}

function limitsOf({ redis, disk, clockShifter }: Site) {
  const impossible = new Set<Strike>()
  const notDone: string[] = []
  if (redis === null) for (const name of ['redisRestarts', 'flushes'] as const) impossible.add(name)
  if (disk === null) {
    impossible.add('fullDisks')
    notDone.push('no disk was filled: this system lets us make none of our own')
  }
  if (clockShifter === null) {
    impossible.add('clockSteps')
    notDone.push('no clock was set: faketime is not installed')
  }
  return { impossible, notDone }
}

async function heal(site: Site, crew: Crew, say: (line: string) => void): Promise<void> {
  for (const wallet of site.wallets) {
    await wallet.front.set({ faults: [], credits: plenty })
    await site.command('resume', [], wallet)
  }
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
}

async function judge(
  site: Site,
  {
    torment,
    crew,
    lookout,
    replays,
  }: { torment: Torment; crew: Crew; lookout: Lookout; replays: boolean },
): Promise<Judgement> {
  const books = new Map(
    await Promise.all(
      site.wallets.map(async ({ name, front }) => [name, await front.books()] as const),
    ),
  )
  const { database, folder } = site
  return judgeChaos({
    books,
    setbacks: torment.setbacks,
    replays,
    tasks: await database.ask(witnessTasks),
    sums: await database.ask(witnessSums),
    purses: await database.ask(witnessPurses),
    budgets: await database.ask(witnessBudgets),
    floor,
    stoodMs: lookout.longestMs,
    longestStandMs,
    accidents: crew.accidents,
    leaks: site.wallets.flatMap(({ front }) => filesHolding(join(folder, 'site'), front.key)),
  })
}
