import type { CallRequest, Rules, RunBudgetUse } from '../../../src/core/ledger/admission.ts'
import type { FinishedCall } from '../../../src/core/ledger/settle.ts'
import type { Watch } from './watch.ts'
import { dayMs, type Reply, type Row, type Worker, type World } from './world.ts'

const unreadCalls = 3

/** A worker requests calls from the core, and gets those that it grants. */
export function ask(
  world: World,
  watch: Watch,
  { worker, asks }: { worker: Worker; asks: readonly CallRequest[] },
): void {
  const rules = rulesOf(world, worker)
  const before = world.account
  const admission = world.core.admit(before, world.costs, {
    requests: asks,
    budgets: pursesOf(world),
    rules,
  })
  world.account = admission.account
  world.costs = admission.costs
  for (const grant of admission.grants) {
    world.event += 1
    const asked = asks.find(({ task }) => task === grant.task)
    watch.granted(grant, { before, rules, urgent: asked?.urgentElsewhere ?? 0 })
    const row: Row = {
      ...grant,
      id: world.rows.length,
      worker: worker.id,
      startedAt: world.now,
      key: worker.key,
      day: world.day,
      event: world.event,
      outcome: null,
      priced: false,
      pricedAt: 0,
      endedAt: 0,
      used: 0,
      remaining: null,
      unknownAt: 0,
      washed: false,
      cost: null,
      reply: null,
      void: false,
    }
    world.rows.push(row)
    world.unsettled.push(row)
    world.starts.push(world.now)
    const task = world.tasks[grant.task]
    if (task !== undefined) task.busy = true
  }
  for (const task of world.tasks) {
    const spent = admission.spentRuns.includes(task.run)
    if (spent && task.state === 'open' && !task.busy) task.state = 'unaffordable'
  }
  world.rest = admission.deferral
  watch.rested(admission.deferral, rules)
}

function rulesOf(world: World, worker: Worker): Rules {
  return {
    now: world.now,
    floor: world.floor,
    counts: true,
    key: worker.key,
    dailyBudget: world.plan.dailyBudget,
    day: String(world.day).padStart(8, '0'),
    dayEnds: (world.day + 1) * dayMs,
    monthlyBudget: world.plan.monthlyBudget,
    month: String(world.month).padStart(8, '0'),
    monthEnds: ((world.month + 1) * 30 + 10) * dayMs,
    rateLimit: world.plan.rateLimit,
    mostInFlight: world.plan.mostInFlight,
    renewalAfter: world.renewalAfter,
  }
}

function pursesOf({ plan, rows }: World): Map<number, RunBudgetUse> {
  const purses = new Map<number, RunBudgetUse>()
  const { listBudget } = plan
  const all = listBudget === null ? [] : rows
  const list = listBudget === null ? null : { key: 'list', budget: listBudget, ...drawn(all) }
  plan.budgets.forEach((budget, run) => {
    const own = budget === null ? [] : rows.filter((row) => row.run === run)
    purses.set(run, { budget, ...drawn(own), list })
  })
  return purses
}

function drawn(rows: readonly Row[]): { spent: number; reserved: number } {
  let spent = 0
  let reserved = 0
  for (const row of rows) {
    if (row.outcome === null) reserved += row.bound
    else if (row.outcome === 'unknown') spent += row.bound
    else spent += row.used
  }
  return { spent, reserved }
}

/** Records the outcomes of some calls together, in any order. */
export function book(
  world: World,
  watch: Watch,
  ended: readonly { row: Row; reply: Reply }[],
): void {
  if (ended.length === 0) return
  const outcomes = ended.map(({ row, reply }) => outcomeOf(row, reply))
  const held = world.unsettled
    .filter((row) => row.outcome === 'unknown' && !ended.some((one) => one.row === row))
    .map(({ id, unknownAt, bound, class: name }) => ({ call: id, unknownAt, bound, class: name }))
  const signals = ended.flatMap(({ row, reply }) =>
    reply === row.reply ? world.signalOf(row) : [],
  )
  watch.heard(ended, signals)
  const settled = world.core.settle(world.account, world.costs, {
    outcomes,
    signals,
    held,
    now: world.now,
    floor: world.floor,
    jitter: 0.5,
  })
  world.event += 1
  world.account = settled.account
  world.costs = settled.costs
  for (const { row, reply } of ended) mark(world, row, reply)
  for (const id of settled.washed) {
    const row = world.rows[id]
    if (row !== undefined) row.washed = true
  }
  for (const { call, bound } of settled.lowered) {
    const row = world.rows[call]
    if (row !== undefined) row.bound = bound
  }
  world.unsettled = world.unsettled.filter(
    ({ outcome, washed }) => outcome === null || (outcome === 'unknown' && !washed),
  )
}

function outcomeOf(row: Row, { ending }: Reply): FinishedCall {
  const { seq, startedAt, startTotal, bound, class: name, outcome, washed } = row
  const call = { start_seq: seq, sent_at_ms: startedAt, start_total: startTotal, class: name }
  return { call: { ...call, credits_reserved: bound, outcome, washed }, entry: { ending } }
}

function mark(world: World, row: Row, { ending, task: effect }: Reply): void {
  const task = world.tasks[row.task]
  if (row.outcome === null) row.unknownAt = world.now
  if (task !== undefined) {
    if (row.outcome === null) task.busy = false
    if (effect === 'answered') task.state = 'answered'
    if (effect === 'failed' && task.state === 'open') task.state = 'failed'
    if (effect === 'retry') task.ambiguous += 1
    if (task.state === 'open' && task.ambiguous >= unreadCalls) task.state = 'unknown'
  }
  row.outcome = ending.kind
  row.endedAt = world.event
  row.priced = ending.kind === 'settled' && ending.priced
  if (row.priced) row.pricedAt = world.event
  row.used = ending.kind === 'settled' ? ending.used : 0
  row.remaining = ending.kind === 'settled' ? ending.remaining : null
}
