// @module-tag slow
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { verifyPromises } from '../../support/promises.ts'
import type { TestMill } from '../../support/mill.ts'
import { patienceMs } from '../../support/patience.ts'
import { backends } from '../../support/redis.ts'
import { type Running, start } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

const running: Running[] = []

afterEach(async () => {
  for (const one of running) one.kill('SIGKILL')
  await Promise.all(running.splice(0).map((one) => one.ended))
})

const lists = Array.from({ length: 12 }, (_, index) => `list${index + 1}`)
const queriesEach = 30

/** A schedule for every minute for each of the lists, last checked some minutes ago. */
async function prepare(mill: TestMill): Promise<string> {
  const folder = join(mill.config.home, 'lists')
  mkdirSync(folder)
  const lines = ['schedule,list,cron,zone,max_age,budget,priority,missed,overlap,on']
  for (const list of lists) {
    const queries = Array.from({ length: queriesEach }, (_, index) => `${list} query ${index}`)
    writeFileSync(join(folder, `${list}.csv`), ['query', ...queries, ''].join('\n'))
    lines.push(`${list},${join(folder, `${list}.csv`)},* * * * *,UTC,0,,,latest,skip,yes`)
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
      values (
        ${list}, ${list}, '* * * * *', 'UTC', 'latest', 'skip', true,
        date_trunc('minute', now()) - interval '4 minutes 30 seconds', now() - interval '4 minutes'
      )`.execute(mill.db)
  }
  const file = join(folder, 'schedules.csv')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

async function count(mill: TestMill, text: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`${sql.raw(text)}`.execute(mill.db)
  return rows[0]?.count ?? 0
}

async function until(
  mill: TestMill,
  text: string,
  reached: (count: number) => boolean,
): Promise<void> {
  await vi.waitFor(async () => expect(await count(mill, text)).toSatisfy(reached), {
    timeout: patienceMs,
    interval: 500,
  })
}

function begin(mill: TestMill, command: string, ...args: string[]): Running {
  const one = start(command, args, mill.env)
  running.push(one)
  return one
}

describe.each(backends)('two schedulers and four workers, the queue on $name', (backend) => {
  test('run each night once, even if one of the schedulers dies', async () => {
    const { api, mill } = await openScene({ backend, api: { credits: 1_000_000 } })
    const file = await prepare(mill)
    const schedulers = [0, 1].map(() => begin(mill, 'nightly', '--file', file))
    const workers = [0, 1, 2, 3].map(() => begin(mill, 'work'))

    // Nights that came due while no scheduler was running: the newest one runs, the older ones are missed.
    const caughtUp = `select count(*) from nights where outcome in ('ran', 'late')`
    await until(mill, caughtUp, (nights) => nights >= lists.length)
    schedulers[0]?.kill('SIGKILL')
    const before = await count(
      mill,
      'select count(distinct due_at) from nights where run_id is not null',
    )

    // The queue's clock keeps ticking, and wakes the other scheduler.
    const minutes = 'select count(distinct due_at) from nights where run_id is not null'
    await until(mill, minutes, (times) => times > before)
    schedulers[1]?.kill('SIGTERM')
    expect(await schedulers[1]?.ended).toMatchObject({ code: 0 })
    await until(mill, `select count(*) from runs where state <> 'done'`, (open) => open === 0)
    for (const worker of workers) worker.kill('SIGTERM')
    for (const worker of workers) {
      const { code, stderr } = await worker.ended
      expect(code, stderr).toBe(0)
    }

    // One run for each night that ran, one call for each of its queries, and the credits add up.
    const runs = await count(mill, 'select count(*) from runs')
    expect(await count(mill, 'select count(distinct run_id) from nights')).toBe(runs)
    expect(await count(mill, 'select count(run_id) from nights')).toBe(runs)
    expect(await count(mill, 'select count(*) from nights where outcome is null')).toBe(0)
    expect(await count(mill, `select count(*) from tasks where state = 'answered'`)).toBe(
      runs * queriesEach,
    )
    expect(api.charges()).toHaveLength(runs * queriesEach)
    const outcomes = `select count(*) from nights where outcome = 'missed'`
    expect(await count(mill, outcomes)).toBeGreaterThanOrEqual(lists.length * 3)
    const broken = (await verifyPromises(mill.db)).filter(({ ok }) => !ok)
    expect(broken).toEqual([])
  })
})
