import fc from 'fast-check'
import { act, reap, reserve, resume, settleSome } from './actions.ts'
import { promise } from './promise.ts'
import { serve } from './server.ts'
import { Watch } from './watch.ts'
import { dayMs, graceMs, World, type Core, type Plan } from './world.ts'

const price = fc
  .record({
    least: fc.integer({ min: 0, max: 6 }),
    range: fc.constantFrom(0, 0, 1, 4, 14),
    jumpsAfter: fc.constantFrom(1_000, 1_000, 3),
  })
  .map(({ least, range, jumpsAfter }) => ({ least, most: least + range, jumpsAfter }))

const many = Array.from({ length: 18 }, () => null)

const plan: fc.Arbitrary<Plan> = fc.record({
  balance: fc.integer({ min: 0, max: 400 }),
  floor: fc.integer({ min: 0, max: 120 }),
  prices: fc.array(price, { minLength: 1, maxLength: 3 }),
  tasks: fc.integer({ min: 3, max: 40 }),
  budgets: fc.array(fc.constantFrom(null, null, 20, 60), { minLength: 1, maxLength: 2 }),
  // Rarely, because an account that can buy little shows little of everything else.
  listBudget: fc.constantFrom(...many, 25, 80),
  dailyBudget: fc.constantFrom(null, null, null, 70, 150),
  monthlyBudget: fc.constantFrom(...many, 60, 140),
  rateLimit: fc.constantFrom(null, null, null, 2, 20),
  mostInFlight: fc.constantFrom(...many, 1, 3),
  renewal: fc.constantFrom(
    null,
    null,
    { everyMs: 50_000, credits: 40 },
    { everyMs: 3_000_000, credits: 300 },
  ),
  faults: fc.constantFrom(0, 3, 6, 12),
  others: fc.constantFrom(false, false, true),
  // Near midnight, so that days change.
  start: fc.constantFrom(1_000 * dayMs - 60_000, 1_000 * dayMs + 3_600_000),
})

/** One simulated lifetime of an account: a plan and its events, step by step. */
export const schedule = fc.record({
  plan,
  steps: fc.array(fc.nat({ max: 2 ** 24 }), { minLength: 30, maxLength: 150, size: 'max' }),
  heals: fc.constantFrom(true, false, false),
})

export type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never

/** Runs a schedule; throws as soon as a check fails. */
export function live(core: Core, { plan: drawn, steps, heals }: Schedule): World {
  const world = new World(drawn, core)
  const watch = new Watch(world)
  for (const step of steps) {
    act(world, watch, step)
    watch.check()
  }
  if (heals) heal(world, watch)
  return world
}

/** No more faults occur and credits are added: every task ends. */
function heal(world: World, watch: Watch): void {
  world.calm = true
  for (const worker of world.workers) worker.state = 'dead'
  world.join()
  world.tick(95_000)
  const open = () => world.tasks.some(({ state }) => state === 'open')
  for (let round = 0; round < 300 && open(); round += 1) {
    reap(world, watch, 0)
    watch.check()
    world.rest = { kind: 'none' }
    reserve(world, watch, 7 << 6)
    for (const row of world.unsettled) {
      if (row.outcome === null) serve(world, row, round)
    }
    settleSome(world, watch, 0)
    watch.check()
    goOn(world, watch)
  }
  promise(!open(), () => `tasks stay open: ${JSON.stringify(world.rest)}`)
}

/** Actions that a user would take. */
function goOn(world: World, watch: Watch): void {
  const { rest } = world
  if (rest.kind === 'wait') world.tick(rest.ms)
  if (rest.kind !== 'stop') return
  switch (rest.reason) {
    case 'credit_floor':
      world.balance += 500
      world.tick(graceMs + 1)
      resume(world, watch, 0)
      return
    case 'auth':
      resume(world, watch, 0)
      return
    case 'budget':
    case 'rate':
      world.tick(Math.max(1, (rest.until ?? 0) - world.now))
      return
    default:
      throw new Error(`unhandled reason ${String(rest.reason satisfies never)}`)
  }
}
