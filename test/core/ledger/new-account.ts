import type { Account } from '../../../src/core/ledger/account.ts'

/** An account that has never been used. */
export const newAccount: Account = {
  seq: 0,
  usedTotal: 0,
  seen: null,
  spentSince: 0,
  reported: null,
  reportedNext: null,
  reserved: 0,
  inFlight: 0,
  uncertain: 0,
  drainedFloor: null,
  blindCalls: 0,
  probeGranted: false,
  lastProbeAt: null,
  notBefore: null,
  rateNextAt: null,
  slowdowns: 0,
  blockedKeys: [],
  keys: [],
  foreignKeys: [],
  external: { now: 0, last: null },
  day: null,
  daySpent: 0,
  month: null,
  monthSpent: 0,
}
