// @module-tag slow
// Behaviour of BullMQ that querymill depends on, so that an upgrade that changes it is noticed.
import type { Queue, Worker } from 'bullmq'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openBackend } from '../../src/core/queue/bullmq.ts'
import { openPool } from '../../src/base/database/database.ts'
import { freshUrl } from '../support/database.ts'
import { backends, type TestBackend } from '../support/redis.ts'
import { patienceMs } from '../support/patience.ts'

type Backend = Awaited<ReturnType<typeof openBackend>>

interface Note {
  readonly text: string
}

const opened: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function open(backend: TestBackend): Promise<Backend> {
  const redisUrl = backend.redisUrl()
  if (redisUrl !== null) {
    const door = await openBackend({ redisUrl }, 'pins')
    opened.push(() => door.close())
    return door
  }
  const pool = openPool(await freshUrl(), { name: 'pins', schema: 'bullmq', max: 8 })
  opened.push(() => pool.end())
  return openBackend({ pool }, 'pins')
}

function queueOf(door: Backend): Queue<Note> {
  const queue = door.queue<Note>('notes')
  opened.push(() => queue.close())
  return queue
}

/** Takes jobs until the test ends; each waits until it is released. */
function workerOf(door: Backend, work: (note: Note) => Promise<void>, concurrency = 1) {
  const worker: Worker<Note> = door.worker<Note>('notes', work, concurrency)
  opened.push(() => worker.close())
  return worker
}

const keep = { removeOnComplete: true, removeOnFail: true }
const job = (jobId: string, text: string, more = {}) => ({
  name: 'note',
  data: { text },
  opts: { jobId, ...keep, ...more },
})

const patiently = { timeout: patienceMs, interval: 20 }

describe.each(backends)('BullMQ on $name', (backend) => {
  test('ignores a job whose id is already waiting, and keeps the data of the first one', async () => {
    const queue = queueOf(await open(backend))
    await queue.addBulk([job('s-1-1-0', 'first')])
    await queue.addBulk([job('s-1-1-0', 'second')])
    expect(await queue.count()).toBe(1)
    expect((await queue.getJob('s-1-1-0'))?.data).toEqual({ text: 'first' })
  })

  test('ignores a job whose id is active', async () => {
    const door = await open(backend)
    const queue = queueOf(door)
    const seen: string[] = []
    let letGo: () => void = () => undefined
    const held = new Promise<void>((done) => {
      letGo = done
    })
    await queue.addBulk([job('s-1-1-0', 'first')])
    const worker = workerOf(door, async ({ text }) => {
      seen.push(text)
      await held
    })
    await vi.waitFor(() => expect(seen).toEqual(['first']), patiently)
    await queue.addBulk([job('s-1-1-0', 'second')])
    const completed = new Promise((done) => worker.once('completed', done))
    letGo()
    await completed
    await queue.addBulk([job('s-2-1-0', 'last')])
    await vi.waitFor(() => expect(seen).toEqual(['first', 'last']), patiently)
  })

  test('runs an id again after it was removed as completed', async () => {
    const door = await open(backend)
    const queue = queueOf(door)
    const seen: string[] = []
    let completed = 0
    const worker = workerOf(door, async ({ text }) => void seen.push(text))
    worker.on('completed', () => (completed += 1))
    await queue.addBulk([job('s-1-1-0', 'once')])
    await vi.waitFor(() => expect(completed).toBe(1), patiently)
    await queue.addBulk([job('s-1-1-0', 'twice')])
    await vi.waitFor(() => expect(seen).toEqual(['once', 'twice']), patiently)
  })

  test.each(['17', 's:1'])('refuses the id %s, and with it the whole bulk', async (id) => {
    const queue = queueOf(await open(backend))
    await expect(queue.addBulk([job('s-1-1-0', 'good'), job(id, 'bad')])).rejects.toThrow(/./)
    expect(await queue.count()).toBe(0)
  })

  test('runs a job without priority before the most urgent job with one', async () => {
    const door = await open(backend)
    const queue = queueOf(door)
    await queue.addBulk([
      job('s-1-1-0', 'nine', { priority: 9 }),
      job('s-1-2-0', 'one', { priority: 1 }),
      job('s-1-3-0', 'none'),
    ])
    const seen: string[] = []
    workerOf(door, async ({ text }) => void seen.push(text))
    await vi.waitFor(() => expect(seen).toEqual(['none', 'one', 'nine']), patiently)
  })

  test('starts nothing while the queue is paused, for any worker', async () => {
    const door = await open(backend)
    const queue = queueOf(door)
    await queue.pause()
    const seen: string[] = []
    const worker = workerOf(door, async ({ text }) => void seen.push(text))
    await worker.waitUntilReady()
    await queue.addBulk([job('s-1-1-0', 'late')])
    expect(seen).toEqual([])
    expect(await queue.isPaused()).toBe(true)
    await queue.resume()
    await vi.waitFor(() => expect(seen).toEqual(['late']), patiently)
  })

  test('retries a failed job while attempts are left, and removes it afterwards', async () => {
    const door = await open(backend)
    const queue = queueOf(door)
    let starts = 0
    workerOf(door, async () => {
      starts += 1
      throw new Error('stumbled')
    })
    const more = { attempts: 3, backoff: { type: 'fixed', delay: 10 } }
    await queue.addBulk([job('s-1-1-0', 'stumbles', more)])
    await vi.waitFor(() => expect(starts).toBe(3), patiently)
    await vi.waitFor(async () => expect(await queue.getJob('s-1-1-0')).toBeUndefined(), patiently)
  })

  test('continues to process a job whose lock is lost', async () => {
    const door = await open(backend)
    const queue = queueOf(door)
    await queue.addBulk([job('s-1-1-0', 'stolen')])
    let letGo: () => void = () => undefined
    const held = new Promise<void>((done) => {
      letGo = done
    })
    let state = 'waiting'
    workerOf(door, async () => {
      state = 'at work'
      await held
      state = 'done'
    })
    await vi.waitFor(() => expect(state).toBe('at work'), patiently)
    await queue.obliterate({ force: true })
    expect(state).toBe('at work')
    letGo()
    await vi.waitFor(() => expect(state).toBe('done'), patiently)
  })

  test('has one scheduler however many processes create it at once', async () => {
    const door = await open(backend)
    const queues = Array.from({ length: 3 }, () => queueOf(door))
    const tries = queues.flatMap((queue) =>
      Array.from({ length: 5 }, () =>
        queue.upsertJobScheduler('tick', { pattern: '0 * * * * *' }, { name: 'note' }),
      ),
    )
    // On Postgres some of them fail; the scheduler exists anyway.
    await Promise.allSettled(tries)
    const [first] = queues
    expect(await first?.getJobSchedulersCount()).toBe(1)
    expect(await first?.getJobCountByTypes('delayed', 'waiting')).toBeLessThanOrEqual(1)
  })
})

test('on Postgres, a bulk with one job that cannot be stored adds none of it', async () => {
  const pool = openPool(await freshUrl(), { name: 'pins', schema: 'bullmq', max: 4 })
  opened.push(() => pool.end())
  const queue = queueOf(await openBackend({ pool }, 'pins'))
  const bulk = [job('s-1-1-0', 'good'), job('s-1-2-0', 'b\u0000d'), job('s-1-3-0', 'good')]
  await expect(queue.addBulk(bulk)).rejects.toThrow(/./)
  expect(await queue.count()).toBe(0)
})
