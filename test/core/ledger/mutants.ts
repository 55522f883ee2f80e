/** A fault injected into the ledger, which the schedules must find. */
export interface Mutant {
  readonly name: string
  readonly file: 'account' | 'admission' | 'prices' | 'settle' | 'settle-model'
  /** Text that occurs once in the source. */
  readonly find: string
  readonly put: string
  /** Seed whose schedules find this fault early; the usual seed needs thousands. */
  readonly seed?: number
}

export const mutants: readonly Mutant[] = [
  {
    name: 'no floor is looked at',
    file: 'admission',
    find: "if (room === null || room < size) return 'floor'",
    put: "if (room === null) return 'floor'",
  },
  {
    name: 'one credit below the floor may be spent',
    file: 'admission',
    find: 'return low - floor - kept',
    put: 'return low - floor + 1 - kept',
  },
  {
    name: 'nothing is reserved',
    file: 'admission',
    find: 'reserved: account.reserved + bound,',
    put: 'reserved: account.reserved,',
  },
  {
    name: 'reservations do not lower the balance that is proved',
    file: 'account',
    find: 'return proved - reserved - uncertain',
    put: 'return proved - uncertain',
  },
  {
    name: 'the last reply to arrive tells the balance',
    file: 'settle-model',
    find: 'if (newest === null || newest.seq <= (account.seen?.seq ?? 0)) {',
    put: 'if (newest === null) {',
  },
  {
    name: 'the greatest balance is believed',
    file: 'settle-model',
    find: 'if (newest === null || newest.seq <= (account.seen?.seq ?? 0)) {',
    put: 'if (newest === null || newest.remaining <= (account.seen?.remaining ?? -1)) {',
  },
  {
    name: 'late replies are not subtracted',
    file: 'settle-model',
    find: 'return { ...account, spentSince: account.spentSince + used }',
    put: 'return account',
  },
  {
    name: 'what ended since a call began is forgotten when it tells the balance',
    file: 'settle-model',
    find: 'spentSince: account.usedTotal - newest.start_total - newest.used,',
    put: 'spentSince: 0,',
  },
  {
    name: 'credits for lost calls are given free without waiting for the server',
    file: 'settle-model',
    find: 'return seen !== null && unknownAt + constants.graceMs <= seen.at',
    put: 'return seen !== null && unknownAt <= seen.at',
  },
  {
    name: 'credits for lost calls are given free by time alone',
    file: 'settle-model',
    find: 'return seen !== null && unknownAt + constants.graceMs <= seen.at',
    put: 'return seen !== null || unknownAt > 0',
  },
  {
    name: 'nothing is held for lost calls',
    file: 'settle',
    find: 'if (inFlight || !washed) change.uncertain += bound',
    put: '',
  },
  {
    name: 'held credits do not lower the balance that is proved',
    file: 'account',
    find: 'return proved - reserved - uncertain',
    put: 'return proved - reserved',
  },
  {
    name: 'a late answer leaves its credits held',
    file: 'settle',
    find: ' else if (!washed) change.uncertain -= bound',
    put: '',
  },
  {
    name: 'a call that was washed out is held again',
    file: 'settle',
    find: 'if (inFlight || !washed) change.uncertain += bound',
    put: 'change.uncertain += bound',
    seed: 8,
  },
  {
    name: 'blind calls are repeated without limit',
    file: 'admission',
    find: 'if (seen === null && blindCalls < constants.blindCalls) return true',
    put: 'if (seen === null) return true',
    seed: 25,
  },
  {
    name: 'a renewal grants probes without limit',
    file: 'admission',
    find: 'const tried = blindCalls < constants.blindCalls ? 0 : (lastProbeAt ?? 0)',
    put: 'const tried = 0',
    seed: 61,
  },
  {
    name: 'the permission to probe is not used up',
    file: 'admission',
    find: 'probeGranted: false,',
    put: '',
  },
  {
    name: 'a probe goes out beside other calls',
    file: 'admission',
    find: 'if (waits || isSpent(limit)) return limit',
    put: 'if (isSpent(limit)) return limit',
  },
  {
    name: 'an old balance is believed for ever',
    file: 'admission',
    find: 'const old = rules.now - seen.at > constants.oldestSightingMs',
    put: 'const old = false',
  },
  {
    name: 'a young class is bound to the dearest price seen',
    file: 'prices',
    find: 'if (cost.seen < constants.trustedAfter) {',
    put: 'if (cost.seen < 1) {',
  },
  {
    name: 'prices are not learned',
    file: 'settle-model',
    find: 'dearest: Math.max(cost.dearest, peak.first),',
    put: 'dearest: cost.dearest,',
  },
  {
    name: 'an unseen class costs what the first guess says',
    file: 'prices',
    find: 'return { alone: 2 * dearest.alone, among: 2 * dearest.among, unseen: true }',
    put: 'return { alone: 1, among: 1, unseen: true }',
  },
  {
    name: 'several calls of a class never seen go out at once',
    file: 'admission',
    find: "if (bound.unseen && this.costs.get(request.class)?.trying === true) return 'class'",
    put: '',
  },
  {
    name: 'a lost try of a class shuts it for ever',
    file: 'settle-model',
    find: 'return { ...cost, trying: cost.trying && !tried }',
    put: 'return cost',
  },
  {
    name: 'a late loss reopens a class whose first call is in flight',
    file: 'settle-model',
    find: 'return { ...cost, trying: cost.trying && !tried }',
    put: 'return { ...cost, trying: false }',
    seed: 51,
  },
  {
    name: 'what a run has reserved does not count against its budget',
    file: 'admission',
    find: 'const left = budget - spent - reserved',
    put: 'const left = budget - spent',
  },
  {
    name: 'grants of one group do not see each other in the budget',
    file: 'admission',
    find: 'takeFrom(this.budgets, run, bound)',
    put: '',
  },
  {
    name: 'grants of one group do not see each other in the budget of their list',
    file: 'admission',
    find: 'list: shares ? { ...list, reserved: list.reserved + bound } : list,',
    put: 'list,',
  },
  {
    name: 'the budget of a list is not looked at',
    file: 'admission',
    find: 'if (list !== null && short(list))',
    put: 'if (list !== null && list.budget < 0)',
  },
  {
    name: 'the budget of the month is not looked at',
    file: 'admission',
    find: "if (short({ budget: rules.monthlyBudget, spent: monthSpent, reserved })) return 'month'",
    put: '',
  },
  {
    name: 'each visit begins the month anew',
    file: 'admission',
    find: 'account.month === null || month > account.month',
    put: 'true',
  },
  {
    name: 'the month counts nothing that ended',
    file: 'settle-model',
    find: 'monthSpent: account.monthSpent + change.day_spent,',
    put: '',
  },
  {
    name: 'one more call than the cap goes out',
    file: 'admission',
    find: 'const full = this.account.inFlight >= ',
    put: 'const full = this.account.inFlight > ',
  },
  {
    name: 'what is reserved does not count against the day',
    file: 'admission',
    find: 'short({ budget: rules.dailyBudget, spent: daySpent, reserved })',
    put: 'short({ budget: rules.dailyBudget, spent: daySpent, reserved: 0 })',
  },
  {
    name: 'lost calls do not count against the day',
    file: 'settle',
    find: 'change.day_spent += bound - counted',
    put: '',
  },
  {
    name: 'a late answer takes the credits of another day off this one',
    file: 'settle',
    find: 'change.day_spent += Math.max(0, used - counted)',
    put: 'change.day_spent += used - counted',
    seed: 16,
  },
  {
    name: 'each visit begins the day anew',
    file: 'admission',
    find: 'account.day === null || day > account.day',
    put: 'true',
  },
  {
    name: 'a refused key is tried again',
    file: 'admission',
    find: 'if (blockedKeys.includes(key)) {',
    put: 'if (blockedKeys.length > 0 && !blockedKeys.includes(key)) {',
  },
  {
    name: 'the time the API asked for is not kept',
    file: 'admission',
    find: 'if (notBefore !== null && now < notBefore) {',
    put: 'if (notBefore !== null && now < notBefore - 500) {',
  },
  {
    name: 'each refusal of a burst makes the wait longer',
    file: 'settle-model',
    find: 'const slowdowns = burst ? account.slowdowns : account.slowdowns + 1',
    put: 'const slowdowns = account.slowdowns + 1',
    seed: 12,
  },
  {
    name: 'a later refusal shortens the wait',
    file: 'settle-model',
    find: 'notBefore: Math.max(account.notBefore ?? 0, until)',
    put: 'notBefore: until',
    seed: 6,
  },
  {
    name: 'a refusal for want of credit is not believed',
    file: 'settle-model',
    find: 'if (noCredit === null || isNewer(account.seen, noCredit)) return account',
    put: 'if (noCredit === null || floor >= 0) return account',
  },
  {
    name: 'an old refusal for want of credit drains a renewed account',
    file: 'settle-model',
    find: 'if (noCredit === null || isNewer(account.seen, noCredit)) return account',
    put: 'if (noCredit === null) return account',
    seed: 127,
  },
  {
    name: 'a drained account goes on with the first credit',
    file: 'admission',
    find: 'constants.hysteresis * (dearestOfAll(costs)?.alone ?? 0)',
    put: '0',
  },
  {
    name: 'urgency is ignored',
    file: 'admission',
    find: "return room < size * (1 + request.urgentElsewhere) ? 'urgent' : null",
    put: 'return null',
  },
  {
    name: 'the rate limit is ignored',
    file: 'admission',
    find: 'if (this.rules.rateLimit === null || ahead <= rateSlackMs) return true',
    put: 'return true',
  },
  {
    name: 'turns that were not taken pile up',
    file: 'admission',
    find: 'return Math.max(this.account.rateNextAt ?? 0, now) + 1000 / rateLimit',
    put: 'return (this.account.rateNextAt ?? now) + 1000 / rateLimit',
  },
  {
    name: 'stops although calls in flight could tell more',
    file: 'admission',
    find: "if (this.account.inFlight > 0) return { kind: 'wait', ms: soon }",
    put: '',
  },
  {
    name: 'a call that was never sent keeps its reservation',
    file: 'settle',
    find: 'change.reserved -= bound',
    put: '',
  },
  {
    name: 'starts are not counted',
    file: 'admission',
    find: 'const seq = account.seq + 1',
    put: 'const seq = Math.max(1, account.seq)',
  },
  {
    name: 'balances told before the newest call began count as told since',
    file: 'settle-model',
    find: 'const fresh = { seq, least: Number.MAX_SAFE_INTEGER, untold: 0 }',
    put: 'const fresh = { seq: 0, least: Number.MAX_SAFE_INTEGER, untold: 0 }',
    seed: 94,
  },
  {
    name: 'answers without a balance do not lower the least one told',
    file: 'account',
    find: ': Math.min(seen.remaining, reported.least) - reported.untold',
    put: ': Math.min(seen.remaining, reported.least)',
    seed: 256,
  },
  {
    name: 'only the newest balance counts among those told',
    file: 'account',
    find: ': Math.min(seen.remaining, reported.least) - reported.untold',
    put: ': seen.remaining - reported.untold',
    seed: 1,
  },
  {
    name: 'a price is forgotten as soon as thirty others came',
    file: 'prices',
    find: 'const { first, second } = higher(cost.recent, cost.earlier)',
    put: 'const { first, second } = cost.recent',
  },
  {
    name: 'a price that came twice is taken for odd',
    file: 'prices',
    find: 'second: Math.max(Math.min(a.first, b.first), a.second, b.second),',
    put: 'second: Math.max(a.second, b.second),',
    seed: 33,
  },
  {
    name: 'a call among others need not expect an odd price',
    file: 'prices',
    find: 'return { alone: Math.max(1, odd ? second : first), among: Math.max(1, first) }',
    put: 'return { alone: Math.max(1, odd ? second : first), among: Math.max(1, odd ? second : first) }',
    seed: 35,
  },
  {
    name: 'what is held less is not given back',
    file: 'settle-model',
    find: 'const freed = [...washed.map(({ bound }) => bound), ...lowered.map(({ less }) => less)]',
    put: 'const freed = washed.map(({ bound }) => bound)',
  },
]

/** Path of the source of a part of the core. */
export function sourceOf(file: Mutant['file']): string {
  return file === 'settle-model' ? 'test/core/ledger/settle-model.ts' : `src/core/ledger/${file}.ts`
}
