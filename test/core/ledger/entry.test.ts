import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../src/core/ledger/settle.ts'
import type { Reply } from '../../../src/core/search/call.ts'
import {
  entryOf,
  lighten,
  lostCall,
  unsentCall,
  withoutRows,
} from '../../../src/core/ledger/entry.ts'
import { answer, bought, lost, page, refusal, response, unsent } from '../worker/pieces.ts'

const bundled = { origin: 'sandbox', api: 'bundled' } as const

function entry(reply: Reply): Entry {
  return entryOf(bought(7, reply), bundled)
}

/** Each class of replies, with the consequences that its policy defines. */
const classes = [
  {
    what: 'an answer ends its task, has a price, and clears the account',
    reply: answer(),
    effect: { kind: 'answered' },
    ending: { kind: 'settled', used: 2, remaining: 98, priced: true },
    signal: 'welcome',
  },
  {
    what: 'a refused key costs nothing, uses no try and stops the account',
    reply: refusal(401, 'UNAUTHORIZED'),
    effect: { kind: 'keep', waitMs: null },
    ending: { kind: 'settled', used: 0, remaining: null, priced: false },
    signal: 'key_refused',
  },
  {
    what: 'used up credit costs nothing, uses no try and stops the account',
    reply: refusal(402, 'QUOTA_EXCEEDED'),
    effect: { kind: 'keep', waitMs: null },
    ending: { kind: 'settled', used: 0, remaining: null, priced: false },
    signal: 'no_credit',
  },
  {
    what: 'a request to slow down costs nothing, uses no try and tells the account how long',
    reply: refusal(429, 'RATE_LIMITED', '7'),
    effect: { kind: 'keep', waitMs: null },
    ending: { kind: 'settled', used: 0, remaining: null, priced: false },
    signal: { waitMs: 7_000 },
  },
  {
    what: 'a page that something before the API wrote costs nothing and uses a try of its task alone',
    reply: page(403),
    effect: { kind: 'retry', ambiguous: false, death: false, waitMs: null, code: 'HTTP_403' },
    ending: { kind: 'settled', used: 0, remaining: null, priced: false },
    signal: null,
  },
  {
    what: 'a refused request costs nothing and fails its task alone',
    reply: refusal(400, 'INVALID_QUERY'),
    effect: { kind: 'fail', code: 'INVALID_QUERY', message: 'no' },
    ending: { kind: 'settled', used: 0, remaining: null, priced: false },
    signal: null,
  },
  {
    what: 'a server error is perhaps charged, uses a try and leaves the account alone',
    reply: refusal(503, 'UNAVAILABLE', '9'),
    effect: { kind: 'retry', ambiguous: true, death: false, waitMs: 9_000, code: 'UNAVAILABLE' },
    ending: { kind: 'unknown' },
    signal: null,
  },
  {
    what: 'a response that never came whole is perhaps charged and uses a try',
    reply: lost(),
    effect: { kind: 'retry', ambiguous: true, death: false, waitMs: null, code: 'TIMEOUT' },
    ending: { kind: 'unknown' },
    signal: null,
  },
  {
    what: 'a call that was never sent holds nothing, uses no try and waits a little',
    reply: unsent('ECONNREFUSED'),
    effect: { kind: 'keep', waitMs: 2_000 },
    ending: { kind: 'unsent' },
    signal: null,
  },
]

describe('the entry of a finished call', () => {
  test.each(classes.map((row) => [row.what, row] as const))(
    '%s',
    (_what, { reply, effect, ending, signal }) => {
      const made = entry(reply)
      expect(made.call).toEqual({ id: 7, mark: null })
      expect(made.effect).toMatchObject(effect)
      expect(made.ending).toEqual(ending)
      expect(made.signal).toEqual(signal)
    },
  )

  test('uses the bill of a refusal, and learns no price from it', () => {
    const refused = (used: number) => ({
      ...{ success: false, error: { code: 'ERROR' }, credits_used: used },
    })
    const hasty = entry(response(429, refused(1)))
    expect(hasty.ending).toEqual({ kind: 'settled', used: 1, remaining: null, priced: false })
    expect(hasty.effect).toMatchObject({ kind: 'keep' })
    const free = entry(response(500, refused(0)))
    expect(free.ending).toEqual({ kind: 'settled', used: 0, remaining: null, priced: false })
    expect(free.effect).toMatchObject({ kind: 'retry', ambiguous: false })
  })

  test('treats a server error with a reported charge as an answer without results', () => {
    const body = { success: false, error: { code: 'SERVER_ERROR' }, credits_used: 1 }
    const made = entry(response(500, body))
    expect(made.ending).toEqual({ kind: 'settled', used: 1, remaining: null, priced: true })
    expect(made).toMatchObject({ effect: { kind: 'answered' }, code: null })
    const reason = 'the API refused it, and charged for it: SERVER_ERROR: '
    expect(made.answer?.search?.answer.parseError).toContain(reason)
  })

  test('reserves the credits of an answer without price and balance, and estimates the price of one with a balance', () => {
    const silent = answer({ credits_used: null, credits_remaining: null })
    expect(entry(silent).ending).toEqual({ kind: 'unknown' })
    expect(entry(answer({ credits_used: null })).ending).toMatchObject({
      kind: 'settled',
      unbilled: true,
    })
  })

  test('keeps every received body, and rows only of an answer', () => {
    const rows = { taskId: 7, ...bundled }
    expect(entry(answer()).answer).toMatchObject({ callId: 7, status: 200, search: rows })
    expect(entry(refusal(429, 'SLOW_DOWN')).answer).toMatchObject({ status: 429, search: null })
    const part = Buffer.from('{"succ')
    expect(entry(lost(part)).answer).toMatchObject({ body: part, truncated: true, search: null })
    expect(entry(lost()).answer).toBeNull()
    expect(entry(unsent('ENDING')).answer).toBeNull()
  })

  test('contains status, credits and reason as they were given', () => {
    expect(entry(answer())).toMatchObject({ httpStatus: 200, creditsUsed: 2, creditsRemaining: 98 })
    expect(entry(refusal(401, 'FORBIDDEN'))).toMatchObject({ code: 'FORBIDDEN', message: 'no' })
    expect(entry(unsent('ENDING'))).toMatchObject({ httpStatus: null, code: 'ENDING' })
  })
})

test('of a call whose worker died counts as possibly charged, and as a death', () => {
  const { ending, effect, answer: kept } = lostCall({ id: 9, mark: 'm' })
  expect(ending).toEqual({ kind: 'unknown' })
  expect(effect).toMatchObject({ kind: 'retry', ambiguous: true, death: true, code: 'WORKER_DIED' })
  expect(kept).toBeNull()
})

test('of a reservation that was never sent releases its credits and leaves its task alone', () => {
  const { call, ending, effect } = unsentCall({ id: 9, mark: 'm' })
  expect({ call, ending, effect }).toEqual({
    call: { id: 9, mark: 'm' },
    ending: { kind: 'unsent' },
    effect: { kind: 'keep', waitMs: null },
  })
})

describe('an entry that the tables refuse', () => {
  test('is stored without its rows: cost and body are kept, and its task fails with the reason', () => {
    const heavy = entry(answer())
    const light = lighten(heavy, new Error('22023'))
    expect(light).toMatchObject({
      ending: heavy.ending,
      effect: { kind: 'fail', code: 'UNSTORABLE' },
      message: expect.stringContaining(
        'the answer could not be stored: 22023; its body is kept',
      ) as unknown,
    })
    expect(light?.answer).toEqual({ ...heavy.answer, search: null })
  })

  test('is first stored as an unreadable answer, with its cost, so that it is not bought again', () => {
    const heavy = entry(answer())
    const light = withoutRows(heavy, new Error('22023'))
    expect(light).toMatchObject({ ending: heavy.ending, effect: { kind: 'answered' } })
    const search = heavy.answer?.search
    expect(light?.answer?.search?.answer).toMatchObject({
      ...{ parseError: 'the tables refused its rows: 22023', results: [], entities: [] },
      creditsUsed: search?.answer.creditsUsed,
      creditsRemaining: search?.answer.creditsRemaining,
    })
  })

  test('has no lighter form if there are no rows to leave out', () => {
    expect(withoutRows(entry(refusal(429, 'SLOW_DOWN')), new Error('22023'))).toBeNull()
    expect(lighten(entry(refusal(429, 'SLOW_DOWN')), new Error('22023'))).toBeNull()
    expect(lighten(unsentCall({ id: 7, mark: null }), new Error('22023'))).toBeNull()
  })
})
