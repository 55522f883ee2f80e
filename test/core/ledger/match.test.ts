import { describe, expect, test } from 'vitest'
import { type Entry, matchEntries, type OpenCall } from '../../../src/core/ledger/settle.ts'
import { entry, openCall } from './books.ts'

const numbers = (entries: readonly Entry[], calls: readonly OpenCall[]) => {
  const { known, matched, strangers } = matchEntries(entries, calls)
  return {
    known: known.map(({ call }) => call.id),
    matched: matched.map(({ call }) => call.id),
    strangers: strangers.map(({ call }) => call.id),
  }
}

const lost: Partial<Entry> = {
  ending: { kind: 'unknown' },
  effect: { kind: 'retry', ambiguous: true, death: true, waitMs: 0, code: '', message: '' },
}
const unsent: Partial<Entry> = {
  ending: { kind: 'unsent' },
  effect: { kind: 'keep', waitMs: null },
}

describe('a reply', () => {
  test('belongs to the call with its number and its mark, and to no other', () => {
    const calls = [openCall(1), openCall(2, { mark: 'mark 7' }), openCall(3, { mark: null })]
    expect(
      numbers(
        [1, 2, 3, 4].map((id) => entry(id)),
        calls,
      ),
    ).toEqual({
      known: [1],
      matched: [1],
      strangers: [2, 3, 4],
    })
  })

  test('belongs to no call of another query', () => {
    const search = { taskId: 1, queryId: 'query 9' }
    const answer = { callId: 1, search } as unknown as Entry['answer']
    expect(numbers([entry(1, { answer })], [openCall(1)])).toMatchObject({
      matched: [],
      strangers: [1],
    })
  })

  test('counts once if it arrives twice, and not at all if it was recorded before', () => {
    expect(numbers([entry(1), entry(1)], [openCall(1)]).matched).toEqual([1])
    for (const outcome of ['settled', 'unsent']) {
      const calls = [openCall(1, { outcome })]
      expect(numbers([entry(1)], calls)).toEqual({ known: [1], matched: [], strangers: [] })
    }
  })

  test('changes a given-up call by an answer or a price, and not by the news that it was never sent', () => {
    const calls = [openCall(1, { outcome: 'unknown' })]
    const held = { ending: { kind: 'unknown' } } as const
    expect(numbers([entry(1)], calls).matched).toEqual([1])
    expect(numbers([entry(1, held)], calls).matched).toEqual([1])
    expect(numbers([entry(1, unsent)], calls).matched).toEqual([])
    expect(numbers([entry(1, lost)], calls).matched).toEqual([])
  })
})
