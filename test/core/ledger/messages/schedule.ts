import fc from 'fast-check'
import type { Cost } from '../../../../src/core/ledger/prices.ts'
import { promise } from '../promise.ts'
import { graceMs } from '../world.ts'
import { act, type Fleet, hire, resume } from './deeds.ts'
import type { Plan } from './plan.ts'
import { leaseMs } from './tables.ts'
import { World } from './world.ts'

const plan: fc.Arbitrary<Plan> = fc.record({
  balance: fc.integer({ min: 0, max: 160 }),
  floors: fc.constantFrom([20], [20, 40], [0]),
  accounts: fc.constantFrom(1, 1, 2),
  queries: fc.integer({ min: 2, max: 12 }),
  runs: fc.array(
    fc.record({
      budget: fc.constantFrom(null, null, 25),
      maxAgeMs: fc.constantFrom(0, 0, 86_400_000),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  price: fc.record({
    least: fc.integer({ min: 1, max: 5 }),
    range: fc.constantFrom(0, 0, 2),
    jumpsAfter: fc.constantFrom(1_000, 1_000, 1_000, 4),
  }),
  listBudget: fc.constantFrom(null, null, null, 30),
  dailyBudget: fc.constantFrom(null, null, null, 60),
  mostInFlight: fc.constantFrom(null, null, null, 2),
  faults: fc.constantFrom(0, 2, 6),
  others: fc.constantFrom(false, false, true),
  restores: fc.constantFrom(false, false, true),
  seen: fc.constantFrom(0, 40, 40),
})

/** One simulated lifetime of a fleet: a plan and its events, step by step. */
export const messageSchedule = fc.record({
  plan,
  steps: fc.array(fc.nat({ max: 2 ** 24 }), { minLength: 15, maxLength: 60, size: 'max' }),
  heals: fc.constantFrom(true, false, false, false, false, false),
})

export type MessageSchedule = typeof messageSchedule extends fc.Arbitrary<infer T> ? T : never

/** Runs a schedule; throws as soon as a check fails. */
export function liveThrough({ plan: drawn, steps, heals }: MessageSchedule): Fleet {
  const world: Fleet = new World(drawn)
  if (drawn.seen > 0) learn(world)
  hire(world, 0)
  hire(world, 1)
  while (world.net.length > 0) world.deliver(0)
  for (const step of steps) {
    act(world, step)
    world.truth.check()
  }
  world.truth.checkKept()
  if (heals) heal(world)
  return world
}

/** Prices and balances are known, as after some days. */
export function learn(world: Fleet): void {
  const { least, range } = world.plan.price
  const peak = { first: least + range, second: least + range, count: 30 }
  const recent = { first: 0, second: 0, count: 0 }
  const known: Cost = {
    ...{ dearest: peak.first, cheapest: least, seen: world.plan.seen, trying: false },
    ...{ recent, earlier: peak },
  }
  const { accounts } = world.tables.shelf
  accounts.forEach((books, id) => {
    const seen = { seq: 1, at: world.now, remaining: world.truth.balances[id] ?? 0 }
    const account = { ...books.account, seq: 1, seen }
    accounts[id] = { ...books, account, costs: new Map([['10/-', known]]) }
  })
}

/** No more faults occur and credits are added: every task ends. */
function heal(world: Fleet): void {
  world.calm = true
  for (const process of world.processes) if (process.state !== 'gone') process.die()
  world.net = []
  world.tick(leaseMs + graceMs)
  for (let id = 0; id < world.plan.accounts; id += 1) hire(world, id)
  const open = () => [...world.tables.shelf.tasks.values()].some(({ state }) => state === 'open')
  for (let round = 0; round < 400 && open(); round += 1) {
    for (const process of world.processes) {
      if (process.state === 'dead' || process.state === 'gone') continue
      process.recover()
      settle(world)
      process.visit(round << 12)
      settle(world)
      for (let lane = 0; lane < 4; lane += 1) process.sendNext()
      settle(world)
      process.write(0)
      settle(world)
      world.truth.check()
    }
    world.tick(3_000)
    if (round % 20 === 19) pay(world)
  }
  promise(!open(), () => 'tasks stay open although nothing goes wrong any more')
}

function settle(world: Fleet): void {
  while (world.net.length > 0) world.deliver(0)
}

function pay(world: Fleet): void {
  for (let id = 0; id < world.plan.accounts; id += 1) {
    world.truth.pay(id, 500)
    world.tick(86_400_000)
    resume(world, id)
  }
}
