import { graceMs } from '../world.ts'
import { Broken } from './connection.ts'
import { Process } from './process.ts'
import type { World } from './world.ts'

/** A simulation with such processes. */
export type Fleet = World<Process>

type Deed = (world: Fleet, luck: number) => void

const pick = <T>(from: readonly T[], luck: number): T | undefined => from[luck % from.length]
const awake = ({ processes }: Fleet) =>
  processes.filter(({ state, asleep }) => !asleep && state !== 'dead' && state !== 'gone')

const with1 =
  (does: (process: Process, luck: number, world: Fleet) => void): Deed =>
  (world, luck) => {
    const process = pick(awake(world), luck)
    if (process !== undefined) does(process, Math.floor(luck / 7), world)
  }

/** The oldest message arrives, or several in their order. */
const arrive: Deed = (world, luck) => {
  for (let count = 1 + (luck % 6); count > 0; count -= 1) world.deliver(0)
}
/** A message overtakes all earlier ones. */
const overtake: Deed = (world, luck) => world.deliver(luck % Math.max(1, world.net.length))
const double: Deed = (world, luck) => world.deliver(luck % Math.max(1, world.net.length), true)
const lose: Deed = (world, luck) => {
  if (world.net.length > 0) world.net.splice(luck % world.net.length, 1)
}
/** The oldest messages are delayed behind all others. */
const delay: Deed = (world, luck) => {
  const late = world.net.splice(0, 1 + (luck % 3))
  world.net.push(...late)
}

const send = with1((process, luck) => {
  for (let count = 1 + (luck % 3); count > 0; count -= 1) process.sendNext()
})
const visit = with1((process, luck) => process.visit(luck))
const write = with1((process, luck) => process.write(luck))
/** Several steps of a process without a fault in between; messages of the API stay in transit. */
const buy = with1((process, luck, world) => {
  process.visit(luck)
  world.hurry(process, 12)
  for (let count = luck % 5; count > 0; count -= 1) process.sendNext()
})
const settle = with1((process, luck, world) => {
  world.hurry(process, 1 + (luck % 8))
  process.write(luck)
  if (luck % 3 > 0) world.hurry(process, 8)
})
const lookAround = with1((process, luck, world) => {
  process.recover()
  if (luck % 3 > 0) world.hurry(process, 24)
})
/** The API receives the oldest requests. */
const serve: Deed = (world, luck) => {
  for (let count = 1 + (luck % 4); count > 0; count -= 1) {
    const index = world.net.findIndex(({ to }) => to === 'api')
    if (index !== -1) world.deliver(index)
  }
}
const recover = with1((process) => process.recover())
const timeOut = with1((process, luck) => process.timeOut(luck))
const stop = with1((process, luck) => {
  if (luck % 4 === 0) process.end()
})
const putAway = with1((process) => process.putAway())
const stopAsking = with1((process, luck) => {
  pick(process.asked, luck)?.fail(new Broken())
})
const cutCable = with1((process) => {
  for (const asked of process.asked) asked.fail(new Broken())
})
const kill = with1((process, luck) => {
  if (luck % 2 === 0) process.die()
})
const freeze = with1((process, luck) => process.sleep(luck % 2 === 0))
const setClock = with1((process, luck) => {
  process.set += pick([-3_600_000, -20_000, 40_000, 86_400_000], luck) ?? 0
})

const wake: Deed = (world, luck) => {
  pick(
    world.processes.filter(({ asleep }) => asleep),
    luck,
  )?.wake()
}

const pauses = [5, 300, 2_000, 7_000, 16_000, 31_000, 61_000, 91_000, graceMs + 1, 400_000, 650_000]
const wait: Deed = (world, luck) => world.tick(pick(pauses, luck) ?? 0)

const join: Deed = (world, luck) => {
  if (awake(world).length < 4) hire(world, luck)
}

export function hire(world: Fleet, luck: number): void {
  const { accounts, floors } = world.plan
  const floor = pick(floors, luck) ?? 0
  const process = new Process(world, { account: luck % accounts, floor })
  world.processes.push(process)
  process.join()
}

const spend: Deed = (world, luck) => {
  const { others, accounts } = world.plan
  if (others) world.truth.spendElsewhere(luck % accounts, 1 + (luck % 20))
}

/** A user runs `resume`. */
export const resume: Deed = (world, luck) => {
  const id = luck % world.plan.accounts
  const books = world.tables.account(id)
  const again = { probeGranted: true, notBefore: null, slowdowns: 0, lastProbeAt: null }
  world.truth.resumes += 1
  const account = { ...books.account, ...again }
  world.tables.shelf.accounts[id] = { ...books, account, version: books.version + 1 }
}

const copy: Deed = (world) => {
  if (world.plan.restores) world.snapshot = world.tables.shelf.copy()
}
const setBack: Deed = (world) => world.setBack()

const often = <T>(times: number, deed: T): T[] => Array.from({ length: times }, () => deed)

const deeds: readonly Deed[] = [
  ...often(12, buy),
  ...often(9, serve),
  ...often(9, settle),
  ...often(4, lookAround),
  ...often(4, visit),
  ...often(8, arrive),
  ...often(5, overtake),
  ...often(5, send),
  ...often(3, write),
  ...often(2, recover),
  ...often(4, wait),
  ...often(2, delay),
  ...often(2, double),
  ...often(2, lose),
  ...often(2, timeOut),
  ...often(2, stopAsking),
  ...often(2, wake),
  ...often(2, join),
  ...often(2, putAway),
  ...often(2, freeze),
  cutCable,
  setClock,
  kill,
  stop,
  spend,
  resume,
  copy,
  setBack,
]

/** The next event: a number of the schedule selects the action, its remainder the details. */
export function act(world: Fleet, step: number): void {
  deeds[step % deeds.length]?.(world, Math.floor(step / deeds.length))
}
