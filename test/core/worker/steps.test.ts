// @module-tag slow
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { CallName, Entry } from '../../../src/core/ledger/settle.ts'
import type { Reply } from '../../../src/core/search/call.ts'
import { openLanes } from '../../../src/core/search/concurrency.ts'
import { Batch } from '../../../src/core/worker/batch.ts'
import { Brake, Outages, KeyCheck } from '../../../src/core/worker/outages.ts'
import { spenderOf } from '../../../src/core/worker/worker.ts'
import { stepsOf, type Tools } from '../../../src/pipeline.ts'
import { Tally } from '../../../src/core/worker/summary.ts'
import { openLedger } from './ledger.ts'
import { answer, bought, recordedOf, refusal, task, unsent } from './pieces.ts'

function name(id: number): CallName {
  return { id, mark: `mark ${id}` }
}

/** The steps of a worker whose calls all return the same answer, and their results. */
async function openSteps() {
  const { mill, clerk, hire } = await openLedger()
  const said: string[] = []
  const lease = await hire()
  const moments: string[] = []
  const entries: Entry[] = []
  const outages = new Outages()
  const nudge = vi.fn<() => void>()
  const called: string[] = []
  const keys: unknown[] = []
  const replies: Reply[] = []
  const logged: [number, Reply][] = []
  const tools = {
    mill,
    options: { report: (line) => said.push(line), at: (moment) => moments.push(moment) },
    lease,
    spender: spenderOf(mill, { account: clerk.account, worker: lease.worker, key: clerk.key }),
    api: {
      call: async ({ q }, key) => {
        called.push(q)
        keys.push(key)
        return answer()
      },
      close: async () => undefined,
      turnKey: () => undefined,
    },
    lanes: openLanes(2),
    brake: new Brake({ lease, timeoutMs: 1_000, outages, nudge }),
    batch: new Batch({
      counted: false,
      write: async (written) => {
        entries.push(...written)
        return recordedOf(written)
      },
      onAway: () => undefined,
      onStuck: () => undefined,
    }),
    tally: new Tally(),
    keyCheck: new KeyCheck(),
    outages,
    log: {
      append: (call, reply) => {
        logged.push([call.id, reply])
        return Promise.resolve()
      },
    },
    onReply: (reply) => replies.push(reply),
    nudge,
  } satisfies Tools
  return {
    tools,
    steps: stepsOf(tools),
    lease,
    moments,
    entries,
    called,
    keys,
    logged,
    replies,
    nudge,
    said,
  }
}

describe('the reservation step', () => {
  test('reserves credits for a task, and shows that the database is back', async () => {
    const { tools, steps, moments, said } = await openSteps()
    tools.outages.mark('a writable database', true)
    const { granted } = await steps.reserve([task(1)])
    expect([...granted.keys()]).toEqual([1])
    expect(tools.spender.givenUp.size).toBe(0)
    expect(tools.outages.mute).toBe(false)
    expect(said).toEqual(['the database is available again'])
    expect(moments).toEqual(['before_reserve', 'reserved'])
  })
})

describe('the call step', () => {
  test('uses a lane that is released before anything is stored, and requests the next one', async () => {
    const { tools, steps, called, nudge } = await openSteps()
    expect(await steps.call(task(1), name(1))).toMatchObject({ kind: 'response', status: 200 })
    expect(called).toEqual(['query 1'])
    expect(tools.lanes.free()).toBe(2)
    await expect.poll(() => nudge.mock.calls.length).toBe(1)
  })

  test('sends its mark as the idempotency key, and its reply is passed on', async () => {
    const { steps, keys, replies } = await openSteps()
    const reply = await steps.call(task(1), name(7))
    expect(keys).toEqual(['mark 7'])
    expect(replies).toEqual([reply])
  })

  test('has its reply in the log before anything else is done with it', async () => {
    const { tools, logged } = await openSteps()
    const before: number[] = []
    const onReply = () => void before.push(logged.length)
    const reply = await stepsOf({ ...tools, onReply }).call(task(1), name(7))
    expect(logged).toEqual([[7, reply]])
    expect(before).toEqual([1])
  })

  test('is skipped if new information prevents it', async () => {
    const { tools, steps, called } = await openSteps()
    tools.brake.end()
    expect(await steps.call(task(1), name(1))).toMatchObject({ kind: 'unsent', code: 'ENDING' })
    expect(called).toEqual([])
  })

  test('is skipped under a lease that was renewed after the reservation, because others may have given it up in between', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { steps, lease, called } = await openSteps()
    await steps.reserve([task(1)])
    vi.advanceTimersByTime(59_500)
    await lease.beat()
    expect(await steps.call(task(1), name(1))).toMatchObject({
      kind: 'unsent',
      code: 'LEASE_TOO_SHORT',
    })
    expect(called).toEqual([])
    expect(await steps.call(task(2), name(2))).toMatchObject({ kind: 'response' })
  })

  test('reports how long the API took', async () => {
    const { tools } = await openSteps()
    const seconds: number[] = []
    const options = { ...tools.options, onCall: (each: number) => seconds.push(each) }
    await stepsOf({ ...tools, options }).call(task(1), name(1))
    expect(seconds).toHaveLength(1)
  })
})

test('parsing determines what a reply means for the query that was sent', async () => {
  const { steps } = await openSteps()
  expect(steps.parse(refusal(401, 'UNAUTHORIZED'), task(1).query)).toMatchObject({
    kind: 'key_refused',
  })
})

describe('the storing step', () => {
  test('records the result, and counts it', async () => {
    const { tools, steps, moments, entries } = await openSteps()
    const seven = { ...bought(7, answer()), call: { id: 7, mark: 'seven' } }
    expect(await steps.store(seven)).toMatchObject({ task: 7, state: 'answered' })
    expect(entries).toMatchObject([{ call: { id: 7 }, effect: { kind: 'answered' } }])
    expect(tools.tally.sum('completed')).toMatchObject({ calls: 1, credits_used: 2 })
    expect(moments).toEqual(['replied', 'stored'])
  })

  test('holds other calls back at once, and a refused key only until it is recorded', async () => {
    const { tools, steps } = await openSteps()
    const refused = steps.store(bought(7, refusal(401, 'UNAUTHORIZED')))
    expect(tools.brake.heldBack(tools.lease.term)).toBe('STOPPED')
    await refused
    expect(tools.brake.heldBack(tools.lease.term)).toBeNull()
    await steps.store(bought(8, unsent('ECONNREFUSED')))
    expect(tools.outages.away('the API')).toBe(true)
  })
})
