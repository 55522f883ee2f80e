import { graceMs, type Reply, type Row, type World } from './world.ts'

const free = { kind: 'settled', used: 0, remaining: null, priced: false } as const
const unread = { kind: 'unknown' } as const

/** The server receives a request. It charges for it or not, and its reply may report this or not. */
export function serve(world: World, row: Row, luck: number): void {
  if (row.cost !== null || row.void) return
  if (row.outcome === 'unknown' && world.now >= row.unknownAt + graceMs) {
    row.void = true
    return
  }
  world.event += 1
  const cost = priceOf(world, row, luck)
  const fault = world.calm || luck % 16 >= world.plan.faults ? -1 : (luck >>> 4) % 8
  const reply = refusal(world, row, { cost, fault, luck }) ?? answer(world, row, { cost, fault })
  row.reply ??= reply
}

function priceOf({ plan, served }: World, { class: name }: Row, luck: number): number {
  const price = plan.prices[Number(name)]
  if (price === undefined) throw new Error(`expected a price for class ${name}`)
  const times = (served[Number(name)] ?? 0) >= price.jumpsAfter ? 3 : 1
  return times * (price.least + ((luck >>> 3) % (price.most - price.least + 1)))
}

interface Case {
  readonly cost: number
  readonly fault: number
}

/** A reply that is not charged. */
function refusal(
  world: World,
  row: Row,
  { cost, fault, luck }: Case & { luck: number },
): Reply | null {
  if (row.key !== world.key) return take(row, { ending: free, signal: 'key_refused', task: 'keep' })
  if (world.balance < cost) return take(row, { ending: free, signal: 'no_credit', task: 'keep' })
  if (fault === 0) {
    const waitMs = [null, 0, 2_000, 50_000][luck % 4] ?? null
    return take(row, { ending: free, signal: { waitMs }, task: 'keep' })
  }
  if (fault === 1) return take(row, { ending: free, signal: null, task: 'failed' })
  if (fault === 2) return take(row, { ending: unread, signal: null, task: 'retry' })
  return null
}

function take(row: Row, reply: Reply): Reply {
  row.cost = 0
  return reply
}

function answer(world: World, row: Row, { cost, fault }: Case): Reply {
  row.cost = cost
  world.balance -= cost
  const kind = Number(row.class)
  world.served[kind] = (world.served[kind] ?? 0) + 1
  if (fault === 3) return { ending: unread, signal: null, task: 'retry' }
  if (fault === 4) return { ending: unread, signal: 'welcome', task: 'answered' }
  const remaining = fault === 5 ? null : world.balance
  return {
    ending: { kind: 'settled', used: cost, remaining, priced: true },
    signal: 'welcome',
    task: 'answered',
  }
}
