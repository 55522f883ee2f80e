/** A fault put into the ledger on purpose: the schedules have to find it. */
export interface Mutant {
  readonly name: string
  readonly file: 'account' | 'limits' | 'admit' | 'settle'
  /** Text that occurs once in the source. */
  readonly find: string
  readonly put: string
}

export const mutants: readonly Mutant[] = [
  {
    name: 'no floor is looked at',
    file: 'limits',
    find: "if (room === null || room < size) return 'floor'",
    put: "if (room === null) return 'floor'",
  },
  {
    name: 'the margin above the floor is one credit short',
    file: 'limits',
    find: 'return low - floor - constants.margin - kept',
    put: 'return low - floor + 1 - kept',
  },
  {
    name: 'nothing is reserved',
    file: 'admit',
    find: 'reserved: account.reserved + bound,',
    put: 'reserved: account.reserved,',
  },
  {
    name: 'reservations do not lower the balance that is proved',
    file: 'account',
    find: 'account.spentSince - account.reserved - account.uncertain',
    put: 'account.spentSince - account.uncertain',
  },
  {
    name: 'the last reply to arrive tells the balance',
    file: 'settle',
    find: 'if (seq <= Math.max(before.seen?.seq ?? 0, newest?.outcome.seq ?? 0)) continue',
    put: '',
  },
  {
    name: 'the greatest balance is believed',
    file: 'settle',
    find: 'if (seq <= Math.max(before.seen?.seq ?? 0, newest?.outcome.seq ?? 0)) continue',
    put: 'if (now.remaining <= (before.seen?.remaining ?? -1)) continue',
  },
  {
    name: 'late replies are not subtracted',
    file: 'settle',
    find: 'spentSince: account.spentSince + now.used,',
    put: '',
  },
  {
    name: 'what ended since a call began is forgotten when it tells the balance',
    file: 'settle',
    find: 'spentSince: after.usedTotal - outcome.startTotal - used,',
    put: 'spentSince: 0,',
  },
  {
    name: 'credits for lost calls are given free without waiting for the server',
    file: 'settle',
    find: 'unknownAt + constants.graceMs <= seen.at',
    put: 'unknownAt <= seen.at',
  },
  {
    name: 'credits for lost calls are given free by time alone',
    file: 'settle',
    find: 'return held.filter(({ unknownAt }) => unknownAt + constants.graceMs <= seen.at)',
    put: 'return held.filter(() => true)',
  },
  {
    name: 'nothing is held for lost calls',
    file: 'settle',
    find: "uncertain: account.uncertain + (was === 'washed' ? 0 : bound),",
    put: '',
  },
  {
    name: 'held credits do not lower the balance that is proved',
    file: 'account',
    find: 'account.reserved - account.uncertain',
    put: 'account.reserved',
  },
  {
    name: 'a late answer leaves its credits held',
    file: 'settle',
    find: 'return { ...account, uncertain: account.uncertain - bound }',
    put: 'return account',
  },
  {
    name: 'a call that was washed out is held again',
    file: 'settle',
    find: "uncertain: account.uncertain + (was === 'washed' ? 0 : bound),",
    put: 'uncertain: account.uncertain + bound,',
  },
  {
    name: 'blind calls are repeated without limit',
    file: 'limits',
    find: 'if (seen === null && blindCalls < constants.blindCalls) return true',
    put: 'if (seen === null) return true',
  },
  {
    name: 'a renewal grants probes without limit',
    file: 'limits',
    find: 'const tried = blindCalls < constants.blindCalls ? 0 : (lastProbeAt ?? 0)',
    put: 'const tried = 0',
  },
  {
    name: 'the permission to probe is not used up',
    file: 'admit',
    find: 'probeGranted: false,',
    put: '',
  },
  {
    name: 'a probe goes out beside other calls',
    file: 'admit',
    find: "if (this.#account.inFlight > 0 || obstacle === 'run_spent') return obstacle",
    put: "if (obstacle === 'run_spent') return obstacle",
  },
  {
    name: 'an old balance is believed for ever',
    file: 'limits',
    find: 'seen !== null && now - seen.at > constants.oldestSightingMs',
    put: 'false',
  },
  {
    name: 'a young class is bound to the dearest price seen',
    file: 'account',
    find: 'if (cost.seen >= constants.trustedAfter) return',
    put: 'if (cost.seen > 0) return',
  },
  {
    name: 'prices are not learned',
    file: 'settle',
    find: 'Math.max(cost.dearest, now.used)',
    put: 'cost.dearest',
  },
  {
    name: 'an unseen class costs what the first guess says',
    file: 'account',
    find: 'Math.max(1, 2 * dearest)',
    put: '1',
  },
  {
    name: 'several calls of a class never seen go out at once',
    file: 'admit',
    find: "if (bound.unseen && this.#costs.get(ask.class)?.trying === true) return 'class'",
    put: '',
  },
  {
    name: 'a lost try of a class shuts it for ever',
    file: 'settle',
    find: "trying: cost.trying && was !== 'in_flight'",
    put: 'trying: cost.trying',
  },
  {
    name: 'a late loss reopens a class whose first call is in flight',
    file: 'settle',
    find: "trying: cost.trying && was !== 'in_flight'",
    put: 'trying: false',
  },
  {
    name: 'what a run has reserved does not count against its budget',
    file: 'limits',
    find: 'purse.budget - purse.spent - purse.reserved',
    put: 'purse.budget - purse.spent',
  },
  {
    name: 'grants of one group do not see each other in the budget',
    file: 'admit',
    find: 'this.#purses.set(run, { ...purse, reserved: purse.reserved + bound })',
    put: '',
  },
  {
    name: 'what is reserved does not count against the day',
    file: 'limits',
    find: '- daySpent - reserved',
    put: '- daySpent',
  },
  {
    name: 'lost calls do not count against the day',
    file: 'settle',
    find: 'daySpent: account.daySpent + bound - counted,',
    put: '',
  },
  {
    name: 'a late answer takes the credits of another day off this one',
    file: 'settle',
    find: 'daySpent: account.daySpent + Math.max(0, now.used - counted),',
    put: 'daySpent: Math.max(0, account.daySpent + now.used - counted),',
  },
  {
    name: 'each visit begins the day anew',
    file: 'admit',
    find: 'account.day === null || rules.day > account.day',
    put: 'true',
  },
  {
    name: 'a refused key is tried again',
    file: 'limits',
    find: 'if (blockedKey !== null && blockedKey === key) {',
    put: 'if (blockedKey !== null && blockedKey !== key) {',
  },
  {
    name: 'the time the API asked for is not kept',
    file: 'limits',
    find: 'if (notBefore !== null && now < notBefore) {',
    put: 'if (notBefore !== null && now < notBefore - 500) {',
  },
  {
    name: 'each refusal of a burst makes the wait longer',
    file: 'settle',
    find: 'const slowdowns = burst ? account.slowdowns : account.slowdowns + 1',
    put: 'const slowdowns = account.slowdowns + 1',
  },
  {
    name: 'a later refusal shortens the wait',
    file: 'settle',
    find: 'notBefore: Math.max(account.notBefore ?? 0, until)',
    put: 'notBefore: until',
  },
  {
    name: 'a refusal for want of credit is not believed',
    file: 'settle',
    find: 'return drain(account, signal, floor)',
    put: 'return account',
  },
  {
    name: 'an old refusal for want of credit drains a renewed account',
    file: 'settle',
    find: 'if (account.seen !== null && account.seen.seq > signal.seq) return account',
    put: '',
  },
  {
    name: 'a drained account goes on with the first credit',
    file: 'limits',
    find: 'constants.hysteresis * (dearestOfAll(costs) ?? 0)',
    put: '0',
  },
  {
    name: 'urgency is ignored',
    file: 'limits',
    find: "return room < size * (1 + ask.urgentElsewhere) ? 'urgent' : null",
    put: 'return null',
  },
  {
    name: 'the rate limit is ignored',
    file: 'admit',
    find: 'if (this.#rules.rateLimit === null || ahead <= rateSlackMs) return true',
    put: 'return true',
  },
  {
    name: 'turns that were not taken pile up',
    file: 'admit',
    find: 'return Math.max(this.#account.rateNextAt ?? 0, now) + 1000 / rateLimit',
    put: 'return (this.#account.rateNextAt ?? now) + 1000 / rateLimit',
  },
  {
    name: 'stops although calls in flight could tell more',
    file: 'admit',
    find: "if (this.#account.inFlight > 0) return { kind: 'wait', ms: soon }",
    put: '',
  },
  {
    name: 'a call that was never sent keeps its reservation',
    file: 'settle',
    find: 'return { ...account, reserved: account.reserved - bound, inFlight: account.inFlight - 1 }',
    put: 'return { ...account, inFlight: account.inFlight - 1 }',
  },
  {
    name: 'starts are not counted',
    file: 'admit',
    find: 'const seq = account.seq + 1',
    put: 'const seq = Math.max(1, account.seq)',
  },
]
