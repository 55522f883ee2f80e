/** What an account may spend, and whether it comes back each month. */
export interface Plan {
  readonly quota: number
  readonly renews: boolean
  /** Requests a second of all its keys together; null: no limit of its own. */
  readonly rate: number | null
}

// Far above what anybody can use, far below 2^53: the answer still tells an exact number.
const endless = 1_000_000_000_000

/** The plans that a key can be issued on. Spec gap 8: quotas are ours. */
export const plans: Readonly<Record<string, Plan>> = {
  free: { quota: 1_000, renews: true, rate: null },
  pro: { quota: 50_000, renews: true, rate: null },
  unlimited: { quota: endless, renews: true, rate: null },
}

/** Spec gap 8: one credit for each ten results begun, from 1 to 10. Nothing found costs one: it was searched. */
export function cost(results: number): number {
  return Math.min(10, Math.max(1, Math.ceil(results / 10)))
}

/** SQL that is true for accounts whose month is over; the next request begins the new one. */
export const renewalIsDue =
  "(accounts.renews and accounts.period < date_trunc('month', now() at time zone 'utc')::date)"

/** SQL for the moment at which an account's credits come back; null for credits that were bought once. */
export const renewalTime =
  "case when accounts.renews then (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' end"
