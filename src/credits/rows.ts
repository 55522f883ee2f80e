import type { AccountRow, Books, CostRow } from '../store/ledger/books.ts'
import type { Account, Cost, Costs } from './account.ts'

/** An account as the pure core sees it, from its row. */
export function accountOf(row: AccountRow): Account {
  const { obs_seq: seq, obs_at_ms: at, obs_remaining: remaining } = row
  return {
    seq: row.seq,
    usedTotal: row.used_total,
    seen: seq === null || at === null || remaining === null ? null : { seq, at, remaining },
    spentSince: row.spent_since,
    reserved: row.reserved,
    inFlight: row.in_flight,
    uncertain: row.uncertain,
    drainedFloor: row.drained_floor,
    blindCalls: row.blind_calls,
    probeGranted: row.probe_granted,
    lastProbeAt: row.last_probe_at_ms,
    notBefore: row.not_before_ms,
    rateNextAt: row.rate_next_at_ms,
    slowdowns: row.slowdowns,
    blockedKey: row.blocked_key,
    day: row.day,
    daySpent: row.day_spent,
  }
}

/** The row of an account, from what the pure core decided. */
export function rowOf(account: Account): AccountRow {
  return {
    seq: account.seq,
    used_total: account.usedTotal,
    obs_seq: account.seen?.seq ?? null,
    obs_at_ms: account.seen?.at ?? null,
    obs_remaining: account.seen?.remaining ?? null,
    spent_since: account.spentSince,
    reserved: account.reserved,
    in_flight: account.inFlight,
    uncertain: account.uncertain,
    drained_floor: account.drainedFloor,
    blind_calls: account.blindCalls,
    probe_granted: account.probeGranted,
    last_probe_at_ms: account.lastProbeAt,
    not_before_ms: account.notBefore,
    rate_next_at_ms: account.rateNextAt,
    slowdowns: account.slowdowns,
    blocked_key: account.blockedKey,
    day: account.day,
    day_spent: account.daySpent,
  }
}

/** Prices by class, from their rows. */
export function costsOf(books: Books): Costs {
  const costs = new Map<string, Cost>()
  for (const { class: name, dearest, cheapest, seen, trying } of books.costs) {
    costs.set(name, { dearest: dearest ?? 0, cheapest: cheapest ?? 0, seen, trying })
  }
  return costs
}

/** The rows of the prices that changed. */
export function changedCosts(before: Costs, after: Costs): CostRow[] {
  const rows: CostRow[] = []
  for (const [name, cost] of after) {
    const old = before.get(name)
    const same =
      old !== undefined &&
      old.dearest === cost.dearest &&
      old.cheapest === cost.cheapest &&
      old.seen === cost.seen &&
      old.trying === cost.trying
    if (same) continue
    const known = cost.seen > 0
    rows.push({
      class: name,
      dearest: known ? cost.dearest : null,
      cheapest: known ? cost.cheapest : null,
      seen: cost.seen,
      trying: cost.trying,
    })
  }
  return rows
}
