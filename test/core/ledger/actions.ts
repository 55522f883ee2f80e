import type { Watch } from './watch.ts'
import { serve } from './server.ts'
import { ask, book } from './till.ts'
import { dayMs, graceMs, leaseMs, type Reply, type Row, type Worker, type World } from './world.ts'

const given = (kind: 'unknown' | 'unsent'): Reply => ({
  ending: { kind },
  signal: null,
  task: kind === 'unknown' ? 'retry' : 'keep',
})

/** The next event: a number of the schedule selects the action, its remainder the details. */
export function act(world: World, watch: Watch, step: number): void {
  const deed = deeds[step % deeds.length]
  if (deed === undefined) throw new Error('expected a deed')
  deed(world, watch, Math.floor(step / deeds.length))
}

type Deed = (world: World, watch: Watch, luck: number) => void

const pick = <T>(from: readonly T[], luck: number): T | undefined => from[luck % from.length]
const alive = ({ workers }: World) => workers.filter(({ state }) => state === 'alive')

export const reserve: Deed = (world, watch, luck) => {
  const worker = pick(alive(world), luck)
  if (worker === undefined) return
  const open = world.tasks.filter(({ state, busy }) => state === 'open' && !busy)
  const skip = world.calm ? 0 : (luck >>> 4) % 3
  const wanted = open.slice(skip, skip + 1 + ((luck >>> 6) % 8))
  if (wanted.length === 0) return
  const urgentElsewhere = world.calm || (luck >>> 9) % 4 !== 0 ? 0 : (luck >>> 11) % 6
  const asks = wanted.map(({ id, class: name, run }) => ({
    task: id,
    class: name,
    run,
    urgentElsewhere,
  }))
  ask(world, watch, { worker, asks })
}

const inFlight = (world: World) => world.unsettled.filter(({ outcome }) => outcome === null)

/** The owner of the call is alive and its reply has arrived; also late replies that add information. */
function readable(world: World): Row[] {
  return world.rows.filter(
    ({ worker, reply, outcome }) =>
      reply !== null &&
      world.workers[worker]?.state === 'alive' &&
      (outcome === null ||
        (outcome === 'unknown' && (reply.ending.kind === 'settled' || reply.task === 'answered'))),
  )
}

const serveOne: Deed = (world, watch, luck) => {
  const waiting = world.unsettled.filter((row) => row.cost === null && !row.void)
  const row = pick(waiting, luck)
  if (row === undefined) return
  serve(world, row, luck >>> 3)
  watch.charged(row)
}

export const settleSome: Deed = (world, watch, luck) => {
  const rows = readable(world)
  if (rows.length === 0) return
  const from = luck % rows.length
  const turned = [...rows.slice(from), ...rows.slice(0, from)]
  const batch = turned.slice(0, world.calm ? rows.length : 1 + ((luck >>> 5) % 6))
  book(
    world,
    watch,
    batch.flatMap((row) => (row.reply === null ? [] : [{ row, reply: row.reply }])),
  )
}

const giveUp =
  (kind: 'unknown' | 'unsent'): Deed =>
  (world, watch, luck) => {
    const rows = inFlight(world).filter(
      ({ worker, cost }) =>
        world.workers[worker]?.state === 'alive' && (kind === 'unknown' || cost === null),
    )
    const row = pick(rows, luck)
    if (row === undefined) return
    if (kind === 'unsent') row.void = true
    book(world, watch, [{ row, reply: given(kind) }])
    // The process that gave up the call receives no more about it.
    row.reply ??= given(kind)
    if (kind === 'unknown') row.reply = given(kind)
  }

export const reap: Deed = (world, watch) => {
  const lost = inFlight(world).filter(
    ({ worker }) => (world.workers[worker]?.leaseUntil ?? 0) < world.now,
  )
  book(
    world,
    watch,
    lost.map((row) => ({ row, reply: given('unknown') })),
  )
}

const state =
  (from: Worker['state'], to: Worker['state']): Deed =>
  (world, _watch, luck) => {
    const worker = pick(
      world.workers.filter((one) => one.state === from),
      luck,
    )
    if (worker === undefined) return
    worker.state = to
    if (to === 'alive') worker.leaseUntil = world.now + leaseMs
  }

const pauses = [5, 40, 300, 1_000, 1_500, 9_000, 45_000, 95_000, graceMs + 1, 130_000, 650_000]
const wait: Deed = (world, _watch, luck) => {
  const pause = pick(pauses, luck) ?? 0
  world.tick(luck % 23 === 0 ? dayMs - (world.now % dayMs) : pause)
}

const join: Deed = (world, _watch, luck) => {
  if (alive(world).length < 4) world.join()
  const worker = pick(world.workers, luck)
  if (worker !== undefined) worker.key = world.key
}

const spend: Deed = (world, _watch, luck) => {
  if (world.plan.others) world.spendElsewhere(1 + (luck % 20))
}

export const resume: Deed = (world, watch) => {
  world.account = {
    ...world.account,
    probeGranted: true,
    blindCalls: 0,
    blockedKeys: [],
    notBefore: null,
    slowdowns: 0,
    lastProbeAt: null,
  }
  watch.resumed()
}

const resumeSeldom: Deed = (world, watch, luck) => {
  if (luck % 4 === 0) resume(world, watch, luck)
}

const changeFloor: Deed = (world, _watch, luck) => {
  const worker = pick(world.workers, luck)
  if (worker !== undefined) worker.floor = Math.max(0, world.plan.floor + ((luck >>> 3) % 31) - 15)
}

const changeKey: Deed = (world, _watch, luck) => {
  if (luck % 3 === 0) world.key = `key ${world.event + 2}`
  for (const worker of world.workers) if (luck % 2 === 0) worker.key = world.key
}

const often = <T>(times: number, deed: T): T[] => Array.from({ length: times }, () => deed)

const deeds: readonly Deed[] = [
  ...often(9, reserve),
  ...often(10, serveOne),
  ...often(8, settleSome),
  ...often(4, wait),
  ...often(2, giveUp('unknown')),
  giveUp('unsent'),
  ...often(2, state('alive', 'dead')),
  state('alive', 'frozen'),
  ...often(2, state('frozen', 'alive')),
  ...often(2, reap),
  ...often(2, join),
  spend,
  resumeSeldom,
  changeFloor,
  changeKey,
]
