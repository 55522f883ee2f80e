import type { AccountRow, Books } from '../store/ledger/books.ts'
import type { Reservation } from '../store/ledger/reservation.ts'
import type { Settlement } from '../store/ledger/settlement.ts'
import type { Account, Sighting, Told } from './account.ts'
import type { Change, Newest } from './change.ts'
import type { Cost, Costs } from './prices.ts'

/** An account as the pure core sees it, from its row. */
export function accountOf(row: AccountRow): Account {
  return {
    seq: row.seq,
    usedTotal: row.used_total,
    seen: seenOf(row),
    spentSince: row.spent_since,
    told: toldOf(row.told_seq, row.told_least, row.told_untold),
    toldNext: toldOf(row.next_told_seq, row.next_told_least, row.next_told_untold),
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
    blockedKeys: row.blocked_keys,
    day: row.day,
    daySpent: row.day_spent,
    month: row.month,
    monthSpent: row.month_spent,
  }
}

function seenOf(row: AccountRow): Sighting | null {
  const { obs_seq: seq, obs_at_ms: at, obs_remaining: remaining, obs_doubted: doubted } = row
  if (seq === null || at === null || remaining === null) return null
  return { seq, at, remaining, ...(doubted ? { doubted } : {}) }
}

function toldOf(seq: number | null, least: number | null, untold: number): Told | null {
  return seq === null ? null : { seq, least: least ?? Number.MAX_SAFE_INTEGER, untold }
}

/** What the gate changes in an account's row, besides its sums. */
export function stateOf(account: Account): Reservation['state'] {
  return {
    drained_floor: account.drainedFloor,
    blind_calls: account.blindCalls,
    probe_granted: account.probeGranted,
    last_probe_at_ms: account.lastProbeAt,
    rate_next_at_ms: account.rateNextAt,
    day: account.day,
    day_spent: account.daySpent,
    month: account.month,
    month_spent: account.monthSpent,
  }
}

/** Prices by class, from their rows. */
export function costsOf({ costs }: Books): Costs {
  return new Map(
    costs.map((row): [string, Cost] => [
      row.class,
      {
        dearest: row.dearest ?? 0,
        cheapest: row.cheapest ?? 0,
        seen: row.seen,
        trying: row.trying,
        recent: { first: row.recent_first, second: row.recent_second, count: row.recent_count },
        earlier: { first: row.earlier_first, second: row.earlier_second, count: row.earlier_count },
      },
    ]),
  )
}

/** A change of the books in the spelling of the statement that writes it. */
export function changeRow(change: Change): Settlement['change'] {
  const { newest, noCredit, slowDown } = change
  return {
    reserved: change.reserved,
    in_flight: change.inFlight,
    uncertain: change.uncertain,
    used: change.used,
    day_spent: change.daySpent,
    newest: newest === null ? null : newestRow(newest),
    least: change.least,
    untold: change.untold,
    refused_keys: change.refusedKeys,
    no_credit: noCredit === null ? null : { seq: noCredit.seq, started_at_ms: noCredit.startedAt },
    slow_down:
      slowDown === null
        ? null
        : {
            started_at_ms: slowDown.startedAt,
            wait_ms: slowDown.waitMs,
            unnamed: slowDown.unnamed,
          },
    welcome: change.welcome,
  }
}

function newestRow({ seq, startedAt, startTotal, used, remaining }: Newest) {
  return { seq, started_at_ms: startedAt, start_total: startTotal, used, remaining }
}

/** The prices that were heard, in the same spelling. */
export function priceRows({ prices }: Change): Settlement['prices'] {
  return [...prices].map(([name, { peak, cheapest, tried }]) => ({
    class: name,
    first: peak.first,
    second: peak.second,
    heard: peak.count,
    cheapest: peak.count === 0 ? 0 : cheapest,
    tried,
  }))
}
