import type { Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { Exchange, type ExchangeEnding } from '../../../src/core/search/call.ts'

function controller() {
  const reasons: string[] = []
  const one = { aborted: false, paused: false, reason: null } as Dispatcher.DispatchController
  one.abort = (reason) => reasons.push(reason.message)
  return { one, reasons }
}

test('a client that would resend a request is stopped before it does, and the call is possibly charged', () => {
  const endings: ExchangeEnding[] = []
  const exchange = new Exchange((ending) => endings.push(ending))
  const [first, second] = [controller(), controller()]
  exchange.onRequestStart(first.one)
  expect(first.reasons).toEqual([])
  exchange.onRequestStart(second.one)
  expect(second.reasons).toEqual(['sent once already'])
  exchange.onResponseEnd()
  expect(endings).toMatchObject([{ sent: true, failure: { code: 'RESENT' } }])
})

test('a call given up before it was sent is stopped before its first byte, and is unsent', () => {
  const endings: ExchangeEnding[] = []
  const exchange = new Exchange((ending) => endings.push(ending))
  exchange.cut('TIMEOUT', 'late')
  const late = controller()
  exchange.onRequestStart(late.one)
  expect(late.reasons).toHaveLength(1)
  expect(endings).toMatchObject([{ sent: false, failure: { code: 'TIMEOUT' } }])
})

test('an error without a message is reported by its code', () => {
  const endings: ExchangeEnding[] = []
  const exchange = new Exchange((ending) => endings.push(ending))
  const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  exchange.onResponseError(controller().one, refused)
  expect(endings).toMatchObject([
    { sent: false, failure: { code: 'ECONNREFUSED', message: 'ECONNREFUSED' } },
  ])
})
