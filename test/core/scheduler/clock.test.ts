import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openPool } from '../../../src/base/database/database.ts'
import type { Mill } from '../../../src/core/mill.ts'
import { openBackend } from '../../../src/core/queue/bullmq.ts'
import { keepTime } from '../../../src/core/scheduler/scheduler.ts'
import type { TestMill } from '../../support/mill.ts'
import { openScene } from '../../support/scene.ts'

let mill: TestMill
let stop: AbortController
let said: string[]

/** A scheduler that only counts ticks; the test sets `silentFor`. */
const scheduler = { ticks: 0, closed: 0, silentFor: 0, tryTick, close }

async function tryTick(): Promise<void> {
  scheduler.ticks += 1
  scheduler.silentFor = 0
}

async function close(): Promise<void> {
  scheduler.closed += 1
}

beforeEach(async () => {
  ;({ mill } = await openScene())
  stop = new AbortController()
  said = []
  Object.assign(scheduler, { ticks: 0, closed: 0, silentFor: 0 })
})

afterEach(() => stop.abort())

function keep(changes: Partial<Mill> = {}): Promise<void> {
  const tell = (line: string) => said.push(line)
  return keepTime({ ...mill, ...changes }, scheduler, {
    signal: stop.signal,
    report: tell,
    lookMs: 20,
  })
}

async function ticked(moreThan: number): Promise<void> {
  await expect.poll(() => scheduler.ticks).toBeGreaterThan(moreThan)
}

/** As the queue does every minute. */
async function tickOfTheQueue(): Promise<void> {
  const pool = openPool(mill.databaseUrl, { name: 'test', schema: 'bullmq', max: 2 })
  const backend = await openBackend({ pool }, mill.installation)
  const queue = backend.queue<Record<string, never>>('ticks')
  await queue.add('ticks', {}, { priority: 1 })
  await queue.close()
  await backend.close()
  await pool.end()
}

describe('the clock of the nights', () => {
  test('ticks at once, then with the queue, and stops at the signal', async () => {
    const kept = keep()
    await ticked(0)
    await tickOfTheQueue()
    await ticked(1)
    expect(scheduler.closed).toBe(0)
    stop.abort()
    await kept
    expect(scheduler.closed).toBe(1)
    expect(said).toEqual([])
  })

  test('is restarted when the queue becomes silent, and makes up for a tick', async () => {
    const kept = keep()
    await ticked(0)
    scheduler.silentFor = 80_000
    await ticked(1)
    await tickOfTheQueue()
    await ticked(2)
    stop.abort()
    await kept
    expect(said).toEqual(["the queue's clock has stopped and is being restarted"])
  })

  test('is not restarted while the queue wakes another scheduler', async () => {
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
      values ('words', 'words', '0 2 * * *', 'UTC', 'latest', 'skip', true, now(), now())`.execute(
      mill.db,
    )
    let looks = 0
    const kept = keepTime(
      mill,
      {
        ...scheduler,
        get silentFor() {
          looks += 1
          return 80_000
        },
      },
      { signal: stop.signal, report: (line) => said.push(line), lookMs: 20 },
    )
    await expect.poll(() => looks).toBeGreaterThan(2)
    stop.abort()
    await kept
    expect(said).toEqual([])
  })

  test('that cannot be started again says why, and ticks by itself', async () => {
    let redisUrl: string | null = null
    const config = {
      ...mill.config,
      get redisUrl() {
        return redisUrl
      },
    }
    const kept = keep({ config })
    await ticked(0)
    redisUrl = 'redis://127.0.0.1:1'
    scheduler.silentFor = 80_000
    await ticked(1)
    stop.abort()
    await kept
    expect(said).toHaveLength(2)
    expect(said[1]).toContain("the queue's clock could not be started: ")
    expect(scheduler.closed).toBe(1)
  })
})
