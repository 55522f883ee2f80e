import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { closeAndJudge } from '../../../src/core/nights/after-runs.ts'
import { Upkeep } from '../../../src/core/worker/duties.ts'
import { openLog } from '../../../src/core/worker/write-ahead-log.ts'
import { Worker } from '../../../src/core/worker/worker.ts'
import { type Ledger, openLedger, outlive } from './ledger.ts'
import { answer } from './pieces.ts'

/** A worker that takes no slices, with its periodic duties. */
async function openUpkeep(ledger: Ledger) {
  const said: string[] = []
  const tell = (line: string) => said.push(line)
  const worker = await Worker.open(ledger.mill, { lanes: 2, report: tell })
  const upkeep = new Upkeep(worker, closeAndJudge)
  onTestFinished(async () => {
    upkeep.stop()
    await worker.api.close()
  })
  return { worker, upkeep, said }
}

/** Leases that are renewed every 100 ms and checked every 150 ms. */
const short = { MILL_LEASE_MS: '600', MILL_TIMEOUT_MS: '100' }

async function leaseUntil({ mill }: Ledger, { lease }: Worker): Promise<number> {
  const { rows } = await sql<{ until: number }>`
    select extract(epoch from lease_until)::float8 as until
    from workers where id = ${lease.worker}`.execute(mill.db)
  return rows[0]?.until ?? 0
}

describe('the periodic duties of a worker', () => {
  test('renew its lease until it is stopped', async () => {
    const ledger = await openLedger(short)
    const { worker, upkeep } = await openUpkeep(ledger)
    const first = await leaseUntil(ledger, worker)
    await expect.poll(() => leaseUntil(ledger, worker)).toBeGreaterThan(first)
    upkeep.stop()
    const beat = vi.spyOn(worker.lease, 'beat')
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(beat).not.toHaveBeenCalled()
  })

  test('give up calls of a dead worker', async () => {
    const ledger = await openLedger(short)
    const dead = await ledger.hire()
    const call = await ledger.reserveCall(dead)
    await outlive(ledger, dead)
    await openUpkeep(ledger)
    await expect.poll(() => ledger.callOf(call)).toMatchObject({ outcome: 'unknown', deaths: 1 })
  })

  test('end a worker for which the tables contain a call that it has ended, because the database was restored', async () => {
    const ledger = await openLedger(short)
    const { worker } = await openUpkeep(ledger)
    const call = await ledger.reserveCall(worker.lease)
    await expect.poll(() => worker.fatal?.message).toContain('are still open in the database')
    expect(await ledger.callOf(call)).toMatchObject({ outcome: null })
  })

  test('spare workers whose leases expired while the database was unreachable, until they had time for a heartbeat', async () => {
    const ledger = await openLedger({ MILL_LEASE_MS: '3000', MILL_TIMEOUT_MS: '100' })
    const other = await ledger.hire(3_000)
    const call = await ledger.reserveCall(other)
    const { worker } = await openUpkeep(ledger)
    const gone = vi.spyOn(ledger.mill.pool, 'connect').mockImplementation(() => {
      throw new Error('the connection broke')
    })
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    const release = vi.spyOn(worker.lease, 'release')
    gone.mockRestore()
    // Checked once, and the other worker is still registered: its heartbeat comes a moment later.
    await expect.poll(() => release.mock.calls.length).toBeGreaterThan(0)
    await other.beat()
    const looked = release.mock.calls.length
    await expect.poll(() => release.mock.calls.length).toBeGreaterThan(looked)
    expect(await ledger.callOf(call)).toMatchObject({ outcome: null })
  })

  test('send a heartbeat before any worker is given up, because a freeze of this machine may have delayed the others, too', async () => {
    const ledger = await openLedger({ MILL_LEASE_MS: '3000', MILL_TIMEOUT_MS: '100' })
    const other = await ledger.hire(3_000)
    const call = await ledger.reserveCall(other)
    const { worker } = await openUpkeep(ledger)
    const beat = vi.spyOn(worker.lease, 'beat')
    const release = vi.spyOn(worker.lease, 'release')
    // Frozen after the first heartbeat and before the first check, which is due first after the freeze.
    await expect.poll(() => beat.mock.calls.length, { interval: 5 }).toBe(1)
    expect(release).not.toHaveBeenCalled()
    const woken = performance.now() + 3_500
    while (performance.now() < woken);
    await expect.poll(() => release.mock.calls.length).toBeGreaterThan(0)
    await other.beat()
    expect(await ledger.callOf(call)).toMatchObject({ outcome: null })
  })

  test('settle answers in the log of a dead worker before its calls are given up', async () => {
    const ledger = await openLedger(short)
    const { mill } = ledger
    const dead = await ledger.hire()
    const call = await ledger.reserveCall(dead)
    const { said } = await openUpkeep(ledger)
    const log = openLog(mill, 1)
    await log.append(call, answer())
    await log.close()
    await outlive(ledger, dead)
    await expect.poll(() => ledger.callOf(call)).toMatchObject({ outcome: 'settled', deaths: 0 })
    await expect
      .poll(() => said.join())
      .toContain('1 answer that a worker had received before it ended')
  })
})

describe('a periodic check', () => {
  test('returns whether any task is open', async () => {
    const ledger = await openLedger()
    const { upkeep } = await openUpkeep(ledger)
    expect(await upkeep.look()).toBe(true)
    await sql`update tasks set state = 'cancelled', finished_at = now()`.execute(ledger.mill.db)
    expect(await upkeep.look()).toBe(false)
  })

  test('recreates jobs that the queue lost, once the worker has had nothing for a while', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const ledger = await openLedger()
    const { upkeep } = await openUpkeep(ledger)
    const queue = await ledger.mill.queue()
    const jobs = async () => (await queue.count()).jobs
    await sql`delete from bullmq.job`.execute(ledger.mill.db)
    await upkeep.look()
    vi.advanceTimersByTime(10_000)
    expect(await jobs()).toBe(0)
    await upkeep.look()
    await expect.poll(jobs).toBe(1)
  })

  test('closes runs whose last slices ended at the same moment', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const ledger = await openLedger()
    const { mill } = ledger
    const { upkeep } = await openUpkeep(ledger)
    await sql`update tasks set state = 'cancelled', finished_at = now()`.execute(mill.db)
    await sql`update slices set done_at = now()`.execute(mill.db)
    vi.advanceTimersByTime(10_000)
    await upkeep.look()
    const { rows } = await sql`select state from runs`.execute(mill.db)
    expect(rows).toEqual([{ state: 'done' }])
  })

  test('records that the database does not answer, and that it is back', async () => {
    const ledger = await openLedger()
    const { worker, upkeep } = await openUpkeep(ledger)
    const gone = vi.spyOn(ledger.mill.pool, 'connect').mockImplementation(() => {
      throw new Error('the connection broke')
    })
    expect(await upkeep.look()).toBeNull()
    expect(worker.outages.away('the database')).toBe(true)
    gone.mockRestore()
    expect(await upkeep.look()).toBe(true)
    expect(worker.outages.away('the database')).toBe(false)
  })
})
