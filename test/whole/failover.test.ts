// @module-tag slow
// A standby takes over from a server that died, behind one address, as behind a proxy or a DNS name that is switched.
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Wire } from '../faults/wire.ts'
import { migrateAll } from '../../src/core/mill.ts'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { openCluster } from '../support/cluster.ts'
import { openScene, queries, type Scene } from '../support/scene.ts'
import { run, start, type Running } from '../support/run.ts'
import { has } from '../support/parts.ts'
import { temporaryFolder } from '../support/place.ts'

const floor = 100
const lanes = 16
const patient = { interval: 10 }

/** An address that leads to one server, and after a switch to another one. */
async function openAddress(first: string) {
  let target = new URL(first)
  const callers = new Set<Socket>()
  const server = createServer((caller) => {
    const far = connect(Number(target.port), target.hostname)
    for (const socket of [caller, far]) socket.on('error', () => undefined)
    caller.once('close', () => far.destroy())
    far.once('close', () => caller.destroy())
    callers.add(caller)
    caller.pipe(far)
    far.pipe(caller)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const caller of callers) caller.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(first), { port: String(port) }).href,
    moveTo: (url: string) => {
      target = new URL(url)
      for (const caller of callers) caller.destroy()
    },
  }
}

/** A database with a standby, which receives its commits over a separate connection. */
async function openPair({ api }: { api: NonNullable<Parameters<typeof openScene>[0]>['api'] }) {
  const folder = temporaryFolder('failover')
  const cluster = await openCluster(folder)
  onTestFinished(async () => {
    await cluster.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { primary } = cluster
  const { url, moveTo } = await openAddress(primary.url)
  const pool = openPool(url, { name: 'test', max: 8 })
  onTestFinished(() => pool.end())
  await migrateAll(pool, url)
  const { hostname, port } = new URL(primary.url)
  const wire = await Wire.open(hostname, Number(port))
  onTestFinished(() => wire.close())
  const standby = await cluster.addStandby(wire.addressOf(primary.url))
  const database = { url, pool, db: openDatabase(pool), close: async () => undefined }
  const settings = {
    MILL_CREDIT_FLOOR: String(floor),
    MILL_CONCURRENCY: String(lanes),
    // Requests in transit when a worker ended are given up afterwards.
    MILL_LEASE_MS: '9000',
    MILL_TIMEOUT_MS: '5000',
  }
  const scene = await openScene({ api: { delayMs: 30, ...api }, database, settings })
  const takeOver = async () => {
    await primary.kill()
    await standby.promote()
    moveTo(standby.url)
  }
  return { ...scene, primary, wire, takeOver }
}

function startWorker({ mill }: Scene, ...args: readonly string[]): Running {
  const worker = start('work', args, mill.env)
  onTestFinished(() => worker.kill('SIGKILL'))
  return worker
}

const settled = async ({ mill }: Scene) => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from calls where outcome = 'settled'`.execute(mill.db)
  return rows[0]?.count ?? 0
}

/** Resolves once the standby has received everything written so far. */
const heard = async ({ primary }: Awaited<ReturnType<typeof openPair>>) => {
  const admin = openPool(primary.url, { name: 'test', max: 1 })
  const { rows } = await admin.query<{ now: string }>('select pg_current_wal_lsn() as now')
  await expect
    .poll(
      async () =>
        (
          await admin.query('select flush_lsn >= $1::pg_lsn as there from pg_stat_replication', [
            rows[0]?.now,
          ])
        ).rows,
      patient,
    )
    .toEqual([{ there: true }])
  await admin.end()
}

const stopped = async ({ mill }: Scene) => {
  const { rows } = await sql`
    select from stops where reason = 'credit_floor' and cleared_at is null`.execute(mill.db)
  return rows.length > 0
}

describe.skipIf(!has('postgresql'))('a standby that takes over', () => {
  test('without the last commits: only lost answers are bought again, and the floor holds except for the one probe', async () => {
    const affordable = 120
    const pair = await openPair({ api: { credits: floor + affordable } })
    const { api, mill, wire, takeOver } = pair
    await mill.plan(queries(200))
    await heard(pair)
    const worker = startWorker(pair)
    // Counted at the API, because the worker would continue while a busy server answers a query.
    await expect.poll(() => api.charges().length, patient).toBeGreaterThan(30)
    wire.hold('there', 'back')
    await expect.poll(() => stopped(pair), patient).toBe(true)
    const bought = api.charges().length
    await takeOver()
    // It notices that fewer calls have started than a moment ago.
    const { code, stderr } = await worker.ended
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining('the database has returned to an earlier state'),
    ])
    const lacking = bought - (await settled(pair))
    expect(lacking).toBeGreaterThan(30)
    // Credits that are left according to this ledger, although the account has none.
    expect((await run('work', ['--drain'], mill.env)).code).toBe(3)
    expect(api.least()).toBeGreaterThanOrEqual(floor - 1)
    api.renew(1_000)
    expect((await run('resume', [], mill.env)).code).toBe(0)
    expect((await run('work', ['--drain'], mill.env)).code).toBe(0)
    expect(await mill.states()).toEqual({ answered: 200 })
    expect(api.charges().length - 200).toBeLessThanOrEqual(lacking)
    expect((await run('verify', [], mill.env)).code).toBe(0)
  })

  test('with synchronous_commit = remote_apply: nothing is lost, nothing bought twice, and work continues', async () => {
    const pair = await openPair({ api: { credits: 10_000 } })
    const { api, mill, primary, takeOver } = pair
    const admin = openPool(primary.url, { name: 'test', max: 1 })
    await admin.query(`alter system set synchronous_standby_names = 'standby'`)
    await admin.query(`alter system set synchronous_commit = 'remote_apply'`)
    await admin.query('select pg_reload_conf()')
    await expect
      .poll(
        async () => (await admin.query('select sync_state from pg_stat_replication')).rows,
        patient,
      )
      .toEqual([{ sync_state: 'sync' }])
    await admin.end()
    await mill.plan(queries(200))
    const worker = startWorker(pair, '--drain')
    await expect.poll(() => settled(pair), patient).toBeGreaterThan(40)
    await takeOver()
    // The new primary has no standby to wait for.
    const { code } = await worker.ended
    expect(code).toBe(0)
    expect(await mill.states()).toEqual({ answered: 200 })
    expect(api.charges()).toHaveLength(200)
    expect((await run('verify', [], mill.env)).code).toBe(0)
  })
})
