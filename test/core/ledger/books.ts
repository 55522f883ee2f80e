// booksOf(account, more): the ledger as it is read; waiting(id, more):
// a task waiting for a reservation; spender(more): the worker that buys; entry(call, more): a finished call;
// openCall(id, more): its row.
import type { Account } from '../../../src/core/ledger/account.ts'
import { newAccount } from './new-account.ts'
import type { Books } from '../../../src/core/ledger/books.ts'
import type { Cost } from '../../../src/core/ledger/prices.ts'
import type { Spender } from '../../../src/core/ledger/reserve.ts'
import type { Entry, OpenCall } from '../../../src/core/ledger/settle.ts'
import type { WaitingTask } from '../../../src/core/ledger/waiting.ts'

export function booksOf(account: Account, more: Partial<Books> = {}): Books {
  const nothing = { version: '1', now_ms: 1_000, floor: 0, costs: new Map(), stops: [] }
  return { account, ...nothing, ...more }
}

/** Enough credits, a recent balance, and a known price. */
export const rich: Account = {
  ...newAccount,
  seq: 40,
  seen: { seq: 40, at: 900, remaining: 1_000 },
  day: '2026-01-01',
  month: '2026-01-01',
}
export const known: Cost = {
  dearest: 5,
  cheapest: 1,
  seen: 30,
  trying: false,
  recent: { first: 0, second: 0, count: 0 },
  earlier: { first: 5, second: 5, count: 30 },
}

export function waiting(id: number, more: Partial<WaitingTask> = {}): WaitingTask {
  return {
    id,
    version: `v${id}`,
    query_id: `query ${id}`,
    state: 'open',
    run_id: 1,
    run_open: true,
    budget: null,
    spent: 0,
    reserved: 0,
    list: null,
    busy: false,
    due: true,
    max_age_ms: 0,
    fresh: null,
    ...more,
  }
}

export function spender(more: Partial<Spender> = {}): Spender {
  return {
    account: 1,
    worker: 1,
    origin: 'live',
    api: 'api.example.com',
    ...{ key: 'key', floor: 100, rebuy: true },
    dailyBudget: null,
    monthlyBudget: null,
    rateLimit: null,
    mostInFlight: null,
    dayOf: () => ({ day: '2026-01-01', ends: 86_400_000 }),
    monthOf: () => ({ month: '2026-01-01', ends: 31 * 86_400_000 }),
    renewalAfter: () => null,
    givenUp: new Set(),
    begun: { seq: 0 },
    ...more,
  }
}

export function entry(id: number, more: Partial<Entry> = {}): Entry {
  return {
    call: { id, mark: `mark ${id}` },
    ending: { kind: 'settled', used: 3, remaining: 97, priced: true },
    effect: { kind: 'answered' },
    signal: 'welcome',
    httpStatus: 200,
    creditsUsed: 3,
    creditsRemaining: 97,
    code: null,
    message: null,
    answer: null,
    ...more,
  }
}

export function openCall(id: number, more: Partial<OpenCall> = {}): OpenCall {
  return {
    id,
    mark: `mark ${id}`,
    outcome: null,
    washed: false,
    start_seq: id,
    sent_at_ms: 1_000,
    start_total: 0,
    credits_reserved: 5,
    least_told: 100,
    class: '10/-',
    query_id: `query ${id}`,
    task_id: id,
    version: `v${id}`,
    run_id: 1,
    state: 'open',
    attempts: 0,
    ambiguous: 0,
    deaths: 0,
    ...more,
  }
}
