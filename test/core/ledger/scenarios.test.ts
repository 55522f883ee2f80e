import { describe, expect, test } from 'vitest'
import { hire, type Fleet } from './messages/deeds.ts'
import type { Process } from './messages/process.ts'
import { learn } from './messages/schedule.ts'
import { leaseMs } from './messages/tables.ts'
import type { Plan } from './messages/plan.ts'
import { World } from './messages/world.ts'

// Cases that once violated a guarantee, message by message, in the simulation. The schedules find each of them as well.

const plan: Plan = {
  ...{ balance: 100, floors: [20], accounts: 1, queries: 8, faults: 0, seen: 40 },
  ...{ runs: [{ budget: null, maxAgeMs: 0 }], price: { least: 5, range: 0, jumpsAfter: 1_000 } },
  ...{ listBudget: null, dailyBudget: null, mostInFlight: null, others: false, restores: true },
}

/** Two workers that know price and balance. */
function open(more: Partial<Plan> = {}) {
  const world: Fleet = new World({ ...plan, ...more })
  learn(world)
  hire(world, 0)
  hire(world, 1)
  settle(world)
  const [first, second] = world.processes
  if (first === undefined || second === undefined) throw new Error('expected two workers')
  return { world, first, second }
}

/** All messages in transit arrive in order. */
function settle(world: Fleet): void {
  while (world.net.length > 0) world.deliver(0)
  world.truth.check()
}

/** A lease passes, and longer, while one worker keeps checking for calls of dead workers. */
function pass(world: Fleet, worker: Process): void {
  for (let beat = 0; beat < 10; beat += 1) {
    world.tick(leaseMs / 6)
    worker.recover()
    settle(world)
  }
}

/** Statements are executed, and their replies are delayed. */
function carryOut(world: Fleet): void {
  const statements = world.net.filter(({ to }) => to === 'tables')
  for (const statement of statements) world.deliver(world.net.indexOf(statement))
}

const outcomes = (world: Fleet) =>
  [...world.tables.shelf.calls.values()].map((call) => call.outcome)
const states = (world: Fleet) => [...world.tables.shelf.tasks.values()].map(({ state }) => state)
/** Requests four calls. */
const four = 3 << 5

describe('a reservation', () => {
  test('with a late reply is sent, and was not released in the meantime', () => {
    const { world, first } = open()
    first.visit(four)
    carryOut(world)
    settleReads(world)
    const reply = world.net.splice(0)
    expect(outcomes(world)).toEqual([null, null, null, null])
    world.tick(25_000)
    first.recover()
    settle(world)
    expect(outcomes(world)).toEqual([null, null, null, null])
    world.net.push(...reply)
    settle(world)
    for (let lane = 0; lane < 4; lane += 1) first.sendNext()
    expect(first.flying.size).toBe(4)
    settle(world)
    first.write(3)
    settle(world)
    expect(outcomes(world)).toEqual(['settled', 'settled', 'settled', 'settled'])
  })

  test('that its worker gave up is released, and never sent if the reply arrives after all', () => {
    const { world, first } = open()
    first.visit(four)
    carryOut(world)
    settleReads(world)
    const reply = world.net.splice(0)
    for (const asked of first.asked) asked.fail(new Error('the connection broke'))
    world.net.push(...reply)
    settle(world)
    expect(first.toSend).toEqual([])
    first.recover()
    settle(world)
    expect(outcomes(world)).toEqual(['unsent', 'unsent', 'unsent', 'unsent'])
  })

  test('that waits until the lease expires and is given up is not sent under a renewed lease', () => {
    const { world, first, second } = open()
    first.visit(four)
    settle(world)
    first.sleep(false)
    pass(world, second)
    expect(outcomes(world)).toEqual(['unknown', 'unknown', 'unknown', 'unknown'])
    first.wake()
    first.recover()
    settle(world)
    for (let lane = 0; lane < 4; lane += 1) first.sendNext()
    expect(first.flying.size).toBe(0)
  })

  test('is not sent by a machine that slept, although its monotonic clock stood still', () => {
    const { world, first } = open()
    first.visit(four)
    settle(world)
    first.sleep(true)
    world.tick(leaseMs + 1_000)
    first.wake()
    first.sendNext()
    expect(first.flying.size).toBe(0)
  })

  test('of two accounts that use the budget of one run at once is written once', () => {
    const { world, first, second } = open({ accounts: 2, runs: [{ budget: 25, maxAgeMs: 0 }] })
    first.visit(four)
    second.visit(four + 4)
    for (let turn = 0; turn < 12; turn += 1) carryOut(world)
    settle(world)
    expect(world.tables.run(0).reserved).toBeLessThanOrEqual(25)
    expect(outcomes(world).length).toBeGreaterThan(0)
  })
})

/** The replies to a worker's reads arrive, and its next statements are executed. */
function settleReads(world: Fleet): void {
  world.deliver(0)
  world.deliver(0)
  carryOut(world)
}

describe('a restored database', () => {
  test('gives no answer to the call that has its number now, and the worker that brought it stops', () => {
    const { world, first, second } = open()
    world.snapshot = world.tables.shelf.copy()
    first.visit(four)
    settle(world)
    for (let lane = 0; lane < 4; lane += 1) first.sendNext()
    settle(world)
    world.setBack()
    second.visit(four + 4)
    settle(world)
    first.write(3)
    settle(world)
    expect(world.aside).toHaveLength(4)
    expect(first.state).toBe('ending')
    expect([...world.tables.shelf.answers]).toEqual([])
  })

  test('shows a settled call in flight again, whose credits stay reserved', () => {
    const { world, first, second } = open()
    first.visit(four)
    settle(world)
    for (let lane = 0; lane < 4; lane += 1) first.sendNext()
    world.snapshot = world.tables.shelf.copy()
    settle(world)
    first.write(3)
    settle(world)
    expect(outcomes(world)).toEqual(['settled', 'settled', 'settled', 'settled'])
    world.setBack()
    world.tick(60_000)
    first.recover()
    settle(world)
    expect(outcomes(world)).toEqual([null, null, null, null])
    first.die()
    pass(world, second)
    expect(outcomes(world)).toEqual(['unknown', 'unknown', 'unknown', 'unknown'])
  })
})

describe('an answer', () => {
  test('in a file of its worker is settled before its call is given up', () => {
    const { world, first, second } = open()
    first.visit(four)
    settle(world)
    first.sendNext()
    settle(world)
    first.end()
    for (let lane = 0; lane < 3; lane += 1) first.sendNext()
    first.putAway()
    expect(world.files).toHaveLength(1)
    settle(world)
    world.tick(leaseMs + 1_000)
    second.recover()
    settle(world)
    expect(outcomes(world)).toEqual(['settled', 'unsent', 'unsent', 'unsent'])
    expect(states(world).filter((state) => state === 'answered')).toHaveLength(1)
  })

  test('to a call that ended unread while others were released stays reserved', () => {
    const { world, first } = open()
    first.visit(four)
    settle(world)
    first.sendNext()
    world.tick(10_000)
    first.spender.givenUp.add('a call that was asked for in vain')
    first.recover()
    first.timeOut(0)
    first.write(0)
    settle(world)
    settle(world)
    expect(outcomes(world)).toEqual(['unknown', null, null, null])
  })
})
