// Workers on simulated hosts: each is a process with its own delayed connections to PostgreSQL and Redis, and all use
// one API.
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { rebuild } from '../../src/core/runs/rebuild.ts'
import { startFaulty } from '../faults/api/standin.ts'
import { start } from '../support/run.ts'
import { measureFar } from './far.ts'
import { openBenchMill, openGround, startStandIn, type BenchMill, type Ground } from './ground.ts'
import { keepWorker, type Kept } from './kept.ts'
import { planRun } from './plan.ts'
import { layWires, tripOf, type Site } from './sites.ts'

interface HostsOptions {
  readonly hosts: number
  /** Round trip. */
  readonly tripMs: number
  readonly queries: number
  readonly trouble: 'none' | 'link' | 'frozen'
  readonly troubleMs: number
}

export interface HostsFigures extends HostsOptions {
  /** Measured round trip of a statement that does nothing. */
  readonly roundTripMs: number
  /** Answers per second of all hosts together, without the first and the last fifth. */
  readonly perSecond: number
  readonly answered: number
  readonly open: number
  readonly charged: number
  readonly boughtTwice: number
  /** The lowest balance minus the floor. */
  readonly leastAboveFloor: number
  /** Workers that exited because the database was unreachable, and were restarted. */
  readonly restarts: number
  readonly verified: boolean
}

const floor = 100
const lanes = 64
const latencyMs = 100

/** Throughput, floor, ledger and checks for a number of hosts, at a distance and with a fault. */
export async function benchHosts(
  short: boolean,
  say: (line: string) => void,
): Promise<{ hosts: readonly HostsFigures[]; ledger: readonly unknown[] }> {
  const ground = await openGround()
  try {
    const queries = short ? 3_000 : 12_000
    const troubleMs = short ? 4_000 : 60_000
    const figures: HostsFigures[] = []
    const measure = async (options: HostsOptions) => {
      figures.push(await measureHosts(ground, options))
      say(JSON.stringify(figures.at(-1)))
    }
    for (const hosts of [2, 8]) {
      for (const tripMs of [0.5, 2, 20]) {
        await measure({ hosts, tripMs, queries, trouble: 'none', troubleMs: 0 })
      }
      for (const trouble of ['link', 'frozen'] as const) {
        await measure({ hosts, tripMs: 2, queries, trouble, troubleMs })
      }
    }
    return { hosts: figures, ledger: await measureLedgers(ground, { calls: queries * 2, say }) }
  } finally {
    await ground.close()
  }
}

/** Throughput of the account's row at these distances: only reservations and settlements. */
async function measureLedgers(
  ground: Ground,
  { calls, say }: { calls: number; say: (line: string) => void },
) {
  const api = await startStandIn(0)
  const found: unknown[] = []
  for (const tripMs of [0.5, 2, 20]) {
    const options = { workers: 8, group: 32, eachWayMs: tripMs / 2, calls }
    found.push(await measureFar({ ground, api }, options))
    say(JSON.stringify(found.at(-1)))
  }
  await api.close()
  return found
}

async function measureHosts(ground: Ground, options: HostsOptions): Promise<HostsFigures> {
  const { hosts, tripMs, queries, trouble } = options
  // With a fault, the floor stops the last tenth.
  const credits = floor + (trouble === 'none' ? queries * 2 : Math.ceil(queries * 0.9))
  const faulty = await startFaulty({ seed: 'hosts', credits, cost: 1, delayMs: latencyMs })
  const api = { url: faulty.url, key: faulty.key, pid: process.pid, close: () => faulty.close() }
  const settings = { MILL_CREDIT_FLOOR: String(floor) }
  const mill = await openBenchMill(ground, { api, redis: true, settings, name: 'bench' })
  const sites = await layWires(ground, mill, { hosts, eachWayMs: tripMs / 2 })
  try {
    await rebuild(mill, await planRun(mill.db, queries))
    const roundTripMs = await tripOf(sites.all[0]?.databaseUrl ?? '')
    const workers = sites.all.map((site) => keepWorker(envOf(mill, site)))
    if (trouble !== 'none') await strike(workers, { sites, options, bought: () => mostBought() })
    const ends = await Promise.all(workers.map(({ ended }) => ended))
    const bad = ends.find(({ code }) => code !== (trouble === 'none' ? 0 : 3))
    if (bad !== undefined) throw new Error(`a worker ended with ${bad.code}: ${bad.stderr}`)
    const charged = faulty.charges().filter((charge) => charge.charged > 0)
    return {
      ...{ ...options, roundTripMs, ...(await progressOf(mill)) },
      charged: charged.length,
      boughtTwice: charged.length - new Set(charged.map(({ q }) => q)).size,
      leastAboveFloor: faulty.least() - floor,
      restarts: workers.reduce((sum, { restarts }) => sum + restarts(), 0),
      verified: (await start('verify', [], envOf(mill, sites.all[0])).ended).code === 0,
    }
  } finally {
    sites.close()
    await mill.close()
    await faulty.close()
  }

  function mostBought() {
    return faulty.charges().length >= queries / 5
  }
}

function envOf(mill: BenchMill, site: Site | undefined) {
  const { api, home } = mill.config
  return {
    DATABASE_URL: site?.databaseUrl ?? mill.databaseUrl,
    ...(site?.redisUrl === undefined ? {} : { REDIS_URL: site.redisUrl }),
    MILL_HOME: home,
    SEARCH_API_URL: api?.url.href ?? '',
    SEARCH_API_KEY: api?.key.reveal() ?? '',
    MILL_CREDIT_FLOOR: String(floor),
    MILL_CONCURRENCY: String(lanes),
  }
}

/** The first host loses its connections or is frozen once a fifth is bought. */
async function strike(
  workers: readonly Kept[],
  {
    sites,
    options: { trouble, troubleMs },
    bought,
  }: {
    sites: Awaited<ReturnType<typeof layWires>>
    options: HostsOptions
    bought: () => boolean
  },
): Promise<void> {
  while (!bought()) await sleep(5)
  if (trouble === 'frozen') workers[0]?.kill('SIGSTOP')
  else sites.hold(0)
  await sleep(troubleMs)
  if (trouble === 'frozen') workers[0]?.kill('SIGCONT')
  else sites.mend(0)
}

async function progressOf({ db }: BenchMill) {
  const { rows } = await sql<{ answered: number; open: number; per_second: number }>`
    with ends as (
      select
        percentile_cont(0.2) within group (order by finished_at) as early,
        percentile_cont(0.8) within group (order by finished_at) as late,
        count(*) as calls
      from (select extract(epoch from finished_at)::float8 as finished_at from calls where outcome = 'settled') c
    )
    select
      (select count(*) from tasks where state = 'answered')::integer as answered,
      (select count(*) from tasks where state = 'open')::integer as open,
      (0.6 * calls / (late - early))::float8 as per_second
    from ends`.execute(db)
  const { answered = 0, open = 0, per_second: perSecond = 0 } = rows[0] ?? {}
  return { answered, open, perSecond }
}
