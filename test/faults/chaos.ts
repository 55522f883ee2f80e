import { join } from 'node:path'
import type { Database } from '../../src/base/database/database.ts'
import { sql } from '../../src/base/database/kysely.ts'
import { only } from '../../src/base/database/sql-file.ts'
import { pause } from '../../src/base/waiting.ts'
import { Crew } from './crew.ts'
import { filesHolding, judgeChaos, type Judgement } from './judge.ts'
import { type Look, Lookout } from './lookout.ts'
import { Site, type SiteOptions } from './site.ts'
import {
  floor,
  longestStandMs,
  luckOf,
  onlyWithLies,
  type Strike,
  type Strikes,
  unknownForMs,
} from './strikes.ts'
import { Torment, wave } from './torment.ts'
import {
  type FleetPace,
  witnessBudgets,
  witnessPace,
  witnessPurses,
  witnessSums,
  witnessTasks,
} from './witness.ts'

interface ChaosOptions extends Omit<SiteOptions, 'credits'> {
  readonly seconds: number
  /** Aborted by a process signal. The faults then end early. */
  readonly signal: AbortSignal
}

interface Chaos {
  readonly judgement: Judgement
  readonly strikes: Strikes
  /** Faults that can't be caused on this system, one sentence each. */
  readonly notDone: readonly string[]
  /** False if a check of `verify` found a violation. */
  readonly verified: boolean
  readonly seconds: number
}

const credits = 400
const plenty = 1_000_000
const healWithinMs = 300_000

/** Injects faults for the given time, then waits until every task has ended, and then checks the result. */
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
  const { say, seed, lying } = options
  if (!lying) for (const name of onlyWithLies) impossible.add(name)
  const torment = new Torment({ site, crew, luck: luckOf(seed), impossible, say })
  const look = async () => (torment.disturbed ? null : lookAtFleet(site, crew))
  const explain = () => explainStand(site, crew)
  const lookout = new Lookout({ look, everyMs: 250, limitMs: longestStandMs, say, explain })
  await torment.last(options.seconds * 1_000, options.signal)
  say('peace: nothing fails any more, and there is credit')
  for (const seat of seats) seat.calm()
  if (!(await heal(site, crew, say))) say(`tasks stay open: ${await explainStand(site, crew)}`)
  lookout.stop()
  await crew.end()
  // Workers that have just ended may have left answers in files, which these commands settle.
  for (const wallet of site.wallets) await site.command('work', ['--drain'], wallet)
  const verified = (await site.command('verify')) === 0
  // After an answer to a different query, a repeated answer is not trusted, so lost calls are bought again.
  const replays = options.replays && !lying
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

/** Waits until every task has ended; returns false if some have not ended after a long time. */
async function heal(site: Site, crew: Crew, say: (line: string) => void): Promise<boolean> {
  for (const wallet of site.wallets) {
    await wallet.front.set({ faults: [], credits: plenty })
    await site.command('resume', [], wallet)
  }
  const end = performance.now() + healWithinMs
  let saidAt = 0
  for (;;) {
    const open = await site.openTasks()
    if (open === 0) return true
    if (performance.now() > end || crew.accidents.length > 5) return false
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
    keyChecks: torment.keyChecks,
    unknownForMs,
    replays,
    tasks: await database.ask(witnessTasks),
    sums: await database.ask(witnessSums),
    purses: await database.ask(witnessPurses),
    budgets: await database.ask(witnessBudgets),
    floor,
    stoodMs: lookout.longestMs,
    longestStandMs,
    accidents: crew.accidents,
    leaks: site.wallets.flatMap(({ front }) =>
      front.keys.flatMap((key) => filesHolding(join(folder, 'site'), key)),
    ),
  })
}

/**
 * Below this balance, reservations may wait until the balance is certain. The amount covers several of the most
 * expensive calls, and a new account's first bound.
 */
const roomCredits = 60
/** With fewer tasks than this, all of them may be held by disturbed workers. */
const fewTasks = 60

/** Workers that could settle something now. Workers on an account that is stopped or has too few credits are idle. */
async function lookAtFleet(site: Site, crew: Crew): Promise<Look> {
  const pace = await site.database.ask(witnessPace)
  if (pace.due < fewTasks) return { settled: pace.settled, able: new Set() }
  const rich = await withCredit(site, pace)
  const able = crew.free(pace.pids).filter(({ wallet }) => rich.has(wallet.name))
  return { settled: pace.settled, able: new Set(able) }
}

/** State of a stalled fleet: the workers with their last output, sums over the tables, and the jobs. */
async function explainStand(site: Site, crew: Crew): Promise<string> {
  const { jobs, ...sums } = await site.database.ask(witnessStand)
  const queued = jobs ?? (await site.redis?.jobs())
  return JSON.stringify({ workers: crew.describe(), ...sums, jobs: queued })
}

async function withCredit(site: Site, { accounts }: FleetPace): Promise<ReadonlySet<string>> {
  const able = new Set<string>()
  for (const { name, front } of site.wallets) {
    const account = accounts.find((one) => one.name === name)
    const { balance } = await front.sums()
    const bound = account?.bound ?? 0
    if (account?.stopped !== true && balance - floor - bound >= roomCredits) able.add(name)
  }
  return able
}

/** Sums over the work of a stalled fleet, to find the cause. */
interface StandWitness {
  readonly accounts: unknown
  readonly stops: unknown
  readonly leases: unknown
  readonly calls: unknown
  readonly tasks: unknown
  readonly slices: unknown
  /** Jobs in the queue, if the queue is in the database. */
  readonly jobs: unknown
}

export async function witnessStand(db: Database): Promise<StandWitness> {
  const { rows } = await sql<Omit<StandWitness, 'jobs'>>`
    select
      (select jsonb_agg(to_jsonb(a)) from accounts a) as accounts,
      (select jsonb_agg(to_jsonb(s)) from stops s where cleared_at is null) as stops,
      (select jsonb_agg(to_jsonb(w)) from workers w where stopped_at is null) as leases,
      (
        select jsonb_agg(to_jsonb(c))
        from (
          select account_id, worker, count(*), min(sent_at) as oldest, max(sent_at) as newest
          from calls
          where outcome is null
          group by account_id, worker
        ) c
      ) as calls,
      (
        select jsonb_agg(to_jsonb(t))
        from (
          select t.run_id, r.state as run_state, r.budget, t.state, count(*),
            count(*) filter (where not_before > clock_timestamp()) as waiting
          from tasks t
          join runs r on r.id = t.run_id
          where t.state = 'open'
          group by t.run_id, r.state, r.budget, t.state
        ) t
      ) as tasks,
      (
        select jsonb_agg(to_jsonb(s))
        from (
          select run_id, slice, round, done_at
          from slices
          where exists (
            select from tasks t
            where t.run_id = slices.run_id and t.slice = slices.slice and t.state = 'open'
          )
          order by run_id, slice
          limit 40
        ) s
      ) as slices`.execute(db)
  return { ...only(rows), jobs: await witnessJobs(db) }
}

async function witnessJobs(db: Database): Promise<unknown> {
  const { rows: found } = await sql<{ there: boolean }>`
    select to_regclass('bullmq.job') is not null as there`.execute(db)
  if (!only(found).there) return null
  const { rows } = await sql<{ jobs: unknown }>`
    select jsonb_agg(to_jsonb(j)) as jobs
    from (
      select id, queue, state, lock_token,
        locked_until_ms - (extract(epoch from clock_timestamp()) * 1000)::bigint as locked_for_ms,
        process_at_ms - (extract(epoch from clock_timestamp()) * 1000)::bigint as due_in_ms
      from bullmq.job
      order by id
      limit 80
    ) j`.execute(db)
  return only(rows).jobs
}
