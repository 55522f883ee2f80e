import type { Change, Settlement } from '../../../../src/core/ledger/settle.ts'

/** Converts a change of the ledger back from the parameters of the statement that writes it. */
export function changeFrom({ change, prices }: Settlement): Change {
  const { newest, no_credit: noCredit, slow_down: slowDown } = change
  return {
    reserved: change.reserved,
    inFlight: change.in_flight,
    uncertain: change.uncertain,
    used: change.used,
    daySpent: change.day_spent,
    newest:
      newest === null
        ? null
        : {
            ...{ seq: newest.seq, startedAt: newest.started_at_ms, startTotal: newest.start_total },
            ...{ used: newest.used, remaining: newest.remaining },
          },
    least: change.least,
    untold: change.untold,
    prices: new Map(
      prices.map(({ class: name, first, second, heard, cheapest, tried }) => {
        const peak = { first, second, count: heard }
        return [name, { peak, cheapest, tried }] as const
      }),
    ),
    refusedKeys: change.refused_keys,
    noCredit: noCredit === null ? null : { seq: noCredit.seq, startedAt: noCredit.started_at_ms },
    slowDown:
      slowDown === null
        ? null
        : {
            startedAt: slowDown.started_at_ms,
            waitMs: slowDown.wait_ms,
            unnamed: slowDown.unnamed,
          },
    welcome: change.welcome,
    wrongAnswers: change.wrong_answers,
  }
}
