// The ledger of several workers whose database is some milliseconds away.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sql } from 'kysely'
import { Lease } from '../../src/core/ledger/leases.ts'
import { spenderOf } from '../../src/core/worker/worker.ts'
import { settleCalls } from '../../src/core/ledger/settle.ts'
import { reserve } from '../../src/core/ledger/reserve.ts'
import { root } from '../../src/base/root.ts'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { openAccount } from '../../src/core/ledger/books.ts'
import { knowThePrice, settledCall } from './components.ts'
import { openBenchMill, type BenchMill, type Ground, type StandIn } from './ground.ts'
import { median } from './meter.ts'
import { planRun } from './plan.ts'

export interface FarOptions {
  readonly workers: number
  /** Calls that are reserved together and settled together. */
  readonly group: number
  /** Network delay from the workers to the database, and the same back. */
  readonly eachWayMs: number
  readonly calls: number
}

export interface FarFigures extends FarOptions {
  /** Measured round trip of a statement that does nothing. */
  readonly roundTripMs: number
  /** Calls reserved and settled per second, by all workers together. */
  readonly perSecond: number
  /** Reservation attempts per group; one if no decision has to be repeated. */
  readonly visits: number
}

/** Groups of one worker in progress at the same time, because a worker settles one while it reserves another. */
const atOnce = 3
const warmUp = 2_000

type Task = Parameters<typeof reserve>[2][number]
type Far = Awaited<ReturnType<typeof openFar>>

/** Reserves and settles over a delayed connection; no call is sent and no answer is stored. */
export async function measureFar(
  { ground, api }: { ground: Ground; api: StandIn },
  options: FarOptions,
): Promise<FarFigures> {
  const mill = await openBenchMill(ground, { api, redis: false, name: 'bench' })
  const wire = await startDelay(mill.databaseUrl, options.eachWayMs)
  try {
    await planRun(mill.db, options.calls + warmUp)
    const account = await openAccount(mill.db, { name: mill.supplier.account, kind: 'live' })
    await knowThePrice(mill, account)
    const { rows } = await sql<{ id: number }>`select id from tasks order by id`.execute(mill.db)
    const tasks = rows.map(({ id }) => ({ task: id, class: '10/-', priority: 5 }))
    const workers = await Promise.all(
      Array.from({ length: options.workers }, () => openFar(mill, { url: wire.url, account })),
    )
    const roundTripMs = await measureTrip(workers)
    // From here on, connections, prepared statements and code are warm.
    await spendAll(workers, tasks.splice(0, tasks.length - options.calls), options.group)
    const began = performance.now()
    const visits = await spendAll(workers, tasks, options.group)
    const perSecond = (options.calls / (performance.now() - began)) * 1_000
    await Promise.all(workers.map(({ close }) => close()))
    return { ...options, roundTripMs, perSecond, visits: (visits * options.group) / options.calls }
  } finally {
    wire.close()
    await mill.close()
  }
}

/** Buys all tasks, some groups of each worker at a time; returns the number of reservation attempts. */
async function spendAll(workers: readonly Far[], tasks: Task[], group: number): Promise<number> {
  let visits = 0
  const spend = async ({ spend: buy }: Far) => {
    for (let next = tasks.splice(0, group); next.length > 0;) {
      visits += 1
      const granted = await buy(next)
      const left = next.filter(({ task }) => !granted.has(task))
      next = left.length > 0 ? left : tasks.splice(0, group)
    }
  }
  const each = workers.flatMap((worker) => Array.from({ length: atOnce }, () => spend(worker)))
  await Promise.all(each)
  return visits
}

/** The connections, lease and ledger of a worker, over the delayed connection. */
async function openFar(mill: BenchMill, { url, account }: { url: string; account: number }) {
  const db = openDatabase(openPool(url, { name: 'far', max: 6, ledger: true }), { byKey: true })
  const lease = await Lease.open({ db, account, floor: 0, lanes: 64, leaseMs: 600_000 })
  const clerk = { account, key: 'bench', floor: 0, rebuy: true }
  return {
    db,
    spend: async (wanted: readonly Task[]) => {
      // One for each group: a worker reserves one group at a time, and expects that the ledger never goes back.
      const spender = spenderOf(mill, { account, worker: lease.worker, key: 'bench' })
      const { granted } = await reserve(db, spender, wanted)
      await settleCalls(db, clerk, [...granted.values()].map(settledCall))
      return granted
    },
    close: async () => {
      await lease.close()
      await db.destroy()
    },
  }
}

async function measureTrip(workers: readonly Far[]) {
  const times: number[] = []
  for (let round = 0; round < 20; round += 1) {
    for (const { db } of workers) {
      const began = performance.now()
      await sql`select 1`.execute(db)
      // The first statement opens the connection.
      if (round > 0) times.push(performance.now() - began)
    }
  }
  return median(times)
}

async function startDelay(server: string, eachWayMs: number) {
  const { hostname, port } = new URL(server)
  const script = join(root, 'test', 'bench', 'delay.ts')
  const args = ['--import', 'tsx', script, hostname, port, String(eachWayMs)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line')
  const url = Object.assign(new URL(server), { hostname: '127.0.0.1', port: String(line) }).href
  return { url, close: () => child.kill('SIGTERM') }
}
