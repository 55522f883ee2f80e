import { describe, expect, test } from 'vitest'
import type { Reply } from '../../../src/core/search/call.ts'
import { judge, policy, readWait, type Verdict } from '../../../src/core/search/verdict.ts'
import { query } from './stage.ts'

const at = new Date('2026-11-21T12:00:00Z')

function respond(status: number, body: unknown, retryAfter: string | null = null): Verdict {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return judge(
    {
      kind: 'response',
      status,
      body: Buffer.from(text),
      truncated: false,
      retryAfter,
      replayMs: null,
      receivedAt: at,
    } satisfies Reply,
    query(),
  )
}

const fail = (code: string) => ({ success: false, error: { code, message: 'no' } })
const charged = (code: string) => ({ ...fail(code), credits_used: 1, credits_remaining: 9 })

describe('a verdict', () => {
  test.each([
    [200, { success: true }, 'answered'],
    [200, {}, 'answered'],
    [200, { success: null }, 'answered'],
    [200, '', 'answered'],
    [200, '<html>', 'answered'],
    [200, '[]', 'answered'],
    [201, { success: true }, 'answered'],
    [204, '', 'faulty'],
    [200, fail('UNAUTHORIZED'), 'key_refused'],
    [200, fail('QUOTA_EXCEEDED'), 'no_credit'],
    [200, fail('RATE_LIMITED'), 'slow_down'],
    [200, fail('INVALID_PARAMETER'), 'refused'],
    [200, fail('NOBODY_KNOWS'), 'faulty'],
    [200, { success: false }, 'faulty'],
    [301, '', 'refused'],
    [400, fail('BAD_REQUEST'), 'refused'],
    [400, '<html>', 'refused'],
    [401, fail('UNAUTHORIZED'), 'key_refused'],
    [403, fail('FORBIDDEN'), 'key_refused'],
    [403, '<html>', 'blocked'],
    [403, '', 'blocked'],
    [401, '<html>', 'blocked'],
    [403, { message: 'Forbidden' }, 'blocked'],
    [403, { error: { code: 'RULE_949110' } }, 'blocked'],
    [403, { error: { code: 'FORBIDDEN' } }, 'key_refused'],
    [403, fail('KEY_EXPIRED'), 'key_refused'],
    [403, fail('insufficient_credits'), 'no_credit'],
    [402, '', 'no_credit'],
    [404, '', 'refused'],
    [408, '', 'faulty'],
    [429, '', 'slow_down'],
    [429, fail('INSUFFICIENT_CREDITS'), 'no_credit'],
    [500, fail('UNAUTHORIZED'), 'faulty'],
    [503, '', 'faulty'],
    [503, fail('QUOTA_EXCEEDED'), 'no_credit'],
    [200, charged('NOBODY_KNOWS'), 'answered'],
    [200, charged('INTERNAL_ERROR'), 'answered'],
    [200, charged('INVALID_QUERY'), 'answered'],
    [200, { success: false, credits_used: 1 }, 'answered'],
    [202, { credits_used: 1 }, 'answered'],
    [400, charged('BAD_REQUEST'), 'answered'],
    [500, charged('NOBODY_KNOWS'), 'answered'],
    [200, { ...charged('NOBODY_KNOWS'), credits_used: 0 }, 'faulty'],
    [200, { ...charged('NOBODY_KNOWS'), credits_used: 'some' }, 'faulty'],
    [200, charged('UNAUTHORIZED'), 'key_refused'],
    [200, charged('OUT_OF_CREDITS'), 'no_credit'],
    [200, charged('RATE_LIMITED'), 'slow_down'],
    [402, charged('NOBODY_KNOWS'), 'no_credit'],
    [403, charged('NOBODY_KNOWS'), 'key_refused'],
    [429, charged('NOBODY_KNOWS'), 'slow_down'],
  ])('for status %i with %j is %s', (status, body, kind) => {
    expect(respond(status, body).kind).toBe(kind)
  })

  test.each([
    ['shoes', true],
    ['Red  SHOES', false],
    ['red shoes', false],
    ['', false],
    [null, false],
    [7, false],
    [['blue shoes'], false],
    [undefined, false],
  ])('for an answer that names %j as its query drops its rows: %j', (named, dropped) => {
    const said = { success: true, query: named, organic_results: [{ title: 'a' }], credits_used: 1 }
    const verdict = respond(200, said)
    expect(verdict).toMatchObject({
      ...{ kind: 'answered', creditsUsed: 1 },
      answer: {
        parseError: dropped ? 'it answers another query: "shoes"' : null,
        results: dropped ? [] : [{}],
        creditsUsed: 1,
      },
    })
  })

  test('for a reply that was not a response keeps what was received', () => {
    const nothing = { answer: null, creditsUsed: null, creditsRemaining: null, waitMs: null }
    const unsent = { kind: 'unsent', code: 'ECONNREFUSED', message: 'refused' } as const
    expect(judge(unsent, query())).toEqual({ ...unsent, ...nothing })
    const lost = { kind: 'lost', code: 'TIMEOUT', message: 'late' } as const
    const reply = { ...lost, status: 200, partial: Buffer.from('{'), receivedAt: at }
    expect(judge(reply, query())).toEqual({ ...lost, ...nothing })
  })

  test('does not depend on the text of a message', () => {
    const body = { success: false, error: { code: 'X', message: 'quota exceeded, unauthorized' } }
    expect(respond(400, body)).toMatchObject({ kind: 'refused', code: 'X' })
    expect(respond(500, body)).toMatchObject({ kind: 'faulty', code: 'X' })
  })

  test('contains no key that a message quotes, and truncates an endless message', () => {
    const body = fail('FORBIDDEN')
    body.error.message = `sk_live_0123456789 ${'x'.repeat(10_000)}`
    const verdict = respond(403, body)
    const message = verdict.kind === 'key_refused' ? verdict.message : null
    expect(message).toMatch(/^sk_live_… x/)
    expect(message?.length).toBeLessThanOrEqual(500)
  })

  test('for a server error delays only the task, because it may have been charged', () => {
    expect(respond(503, '', '9')).toMatchObject({ kind: 'faulty', waitMs: 9000 })
    expect(policy.faulty).toMatchObject({ stops: null, money: 'unknown', task: 'retry' })
  })
})

describe('the wait that an API requests', () => {
  test.each([
    [null, null],
    ['', null],
    ['7', 7000],
    ['1.5', 1500],
    ['0', 1000],
    ['999999999999', 3_600_000],
    ['-5', null],
    ['soon', null],
    ['soon 2030', null],
    ['2030-01-01', null],
    ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 12:00:00 GMT', 1000],
    ['Sat, 21 Nov 2036 12:00:00 GMT', 3_600_000],
    ['Sat, 99 Nov 2026 12:00:00 GMT', null],
  ])('given as %j is %j milliseconds', (header, waitMs) => {
    expect(readWait(header, at)).toBe(waitMs)
  })
})

describe('credits in a body', () => {
  test.each([
    [3, 3],
    [0, 0],
    ['12', 12],
    ['012', null],
    ['1e3', null],
    [' 5', null],
    [1.5, 2],
    ['1.5', 2],
    [0.4, 1],
    [1.1 + 2.2 - 0.3, 3],
    [-1, null],
    [null, null],
    [true, null],
    [2 ** 53, null],
    [4_000_000_000, null],
  ])('used %j counts as %j', (given, creditsUsed) => {
    expect(respond(200, { credits_used: given })).toMatchObject({ creditsUsed })
    expect(respond(500, { success: false, credits_used: given })).toMatchObject({ creditsUsed })
  })

  test.each([
    [4_000_000_000, 4_000_000_000],
    ['77', 77],
    [-3, null],
    ['-3', null],
    [2.5, 2],
    [12.1 - 0.3 - 0.8, 11],
    ['9007199254740993', null],
    [1e300, null],
    [[5], null],
  ])('remaining %j counts as %j', (given, creditsRemaining) => {
    expect(respond(200, { credits_remaining: given })).toMatchObject({ creditsRemaining })
    expect(respond(402, { credits_remaining: given })).toMatchObject({ creditsRemaining })
  })
})
