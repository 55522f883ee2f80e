// @module-tag slow
// Workers on separate hosts: each reaches the database over a connection with a delay of a millisecond each way, and
// one connection breaks.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { Wire } from '../faults/wire.ts'
import { openScene, queries } from '../support/scene.ts'
import { run, start } from '../support/run.ts'

const floor = 100
const affordable = 240
const all = 400

async function layWire(server: string): Promise<Wire> {
  const { hostname, port } = new URL(server)
  const wire = await Wire.open(hostname, Number(port))
  onTestFinished(() => wire.close())
  wire.delay(1)
  return wire
}

test('two workers two milliseconds away, one of which loses its connection for a while, respect the floor, lose nothing and buy nothing twice', async () => {
  const { api, mill } = await openScene({
    api: { credits: floor + affordable, delayMs: 2_000 },
    settings: { MILL_CREDIT_FLOOR: String(floor) },
  })
  await mill.plan(queries(all))
  const wires = [await layWire(mill.databaseUrl), await layWire(mill.databaseUrl)]
  const workers = wires.map((wire) => {
    const DATABASE_URL = wire.addressOf(mill.databaseUrl)
    const worker = start('work', ['--drain', '--json'], { ...mill.env, DATABASE_URL })
    onTestFinished(() => worker.kill('SIGKILL'))
    return worker
  })
  const bought = () => api.charges().length
  const patient = { interval: 10 }
  const buying = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(distinct worker)::integer as count from calls`.execute(mill.db)
    return rows[0]?.count
  }
  // Slow until both buy, because one that starts late on a busy machine would find everything bought.
  await expect.poll(buying, patient).toBe(2)
  api.set({ delayMs: 40 })
  await expect.poll(bought, patient).toBeGreaterThan(20)
  const before = bought()
  wires[0]?.hold('there', 'back')
  // The other one continues alone; calls of the first are answered in the meantime, and can't be recorded.
  await expect.poll(bought, patient).toBeGreaterThan(before + 40)
  wires[0]?.cut()
  wires[0]?.letGo()
  const ends = await Promise.all(workers.map(({ ended }) => ended))
  // At the floor, or after the other worker has reached it.
  expect(ends.map(({ code }) => code)).toEqual([3, 3])
  expect(api.least()).toBeGreaterThanOrEqual(floor)
  expect(bought()).toBeLessThanOrEqual(affordable)
  expect(api.balance() - floor).toBeLessThanOrEqual(2)

  api.renew(10_000)
  expect((await run('resume', [], mill.env)).code).toBe(0)
  expect(await mill.drain()).toMatchObject({ finish: 'completed' })
  expect(await mill.states()).toEqual({ answered: all })
  expect(new Set(api.charges().map(({ q }) => q)).size).toBe(all)
  expect(bought()).toBe(all)
  const { code, stdout } = await run('verify', [], mill.env)
  expect([code, stdout]).toEqual([0, expect.any(String)])
})
