import { mutants as core, sourceOf } from '../core/ledger/mutants.ts'
import { inFile, type Mutant } from './mutant.ts'

const rules = ['test/core/ledger/admit.test.ts', 'test/core/ledger/settle.test.ts']
const schedules = 'test/core/ledger/model.test.ts'
/** Compares the model of settlements with the statement. */
const statement = 'test/core/ledger/settle-statement.test.ts'

/** Faults of the pure rules; the schedules also find each of them in every test run. */
const pure: readonly Mutant[] = core.map(({ name, file, find, put }) => ({
  name,
  file: sourceOf(file),
  find,
  put,
  tests: [...rules, schedules, ...(file === 'settle-model' ? [statement] : [])],
}))

const edges: readonly Mutant[] = [
  ...inFile(
    'src/core/ledger/settle.ts',
    [...rules, schedules, 'test/core/ledger/settlement.test.ts'],
    [
      {
        name: 'a call that was never sent counts for the day',
        find: "  if (ending.kind === 'unknown') {\n",
        put: "  if (ending.kind === 'unsent') change.day_spent += bound\n  if (ending.kind === 'unknown') {\n",
      },
      {
        name: 'a refusal for nothing teaches a price',
        find: "ending.kind === 'settled' && ending.priced ? ending.used : null",
        put: "ending.kind === 'settled' ? ending.used : null",
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/admission.ts',
    [...rules, schedules],
    [
      {
        name: 'a probe that reports no balance is repeated without limit',
        find: 'probeGranted: probeGranted && made < constants.blindCalls,',
        put: 'probeGranted,',
      },
      {
        name: 'a drain holds whatever the floor',
        find: 'const drained = drainedFloor !== null && floor >= drainedFloor',
        put: 'const drained = drainedFloor !== null',
      },
    ],
  ),
  ...inFile(
    'test/core/ledger/settle-model.ts',
    [...rules, schedules, statement],
    [
      {
        name: 'waits that the API did not name grow without a ceiling',
        find: 'Math.min(constants.longestSlowdownMs, doubled)',
        put: 'doubled',
      },
      {
        name: 'an answer leaves the waits as long as they were',
        find: 'return welcome ? { ...heeded, slowdowns: 0 } : heeded',
        put: 'return heeded',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/retry-policy.ts',
    ['test/core/ledger/tries.test.ts'],
    [
      {
        name: 'pauses between tries grow without a ceiling',
        find: 'Math.min(longestRetryMs, doubled)',
        put: 'doubled',
        survives: 'a task fails after five tries, before a pause of its own gets near the ceiling',
      },
      {
        name: 'a query that kills workers is tried for ever',
        find: 'if (deaths >= constants.deaths) {',
        put: 'if (deaths >= 100) {',
      },
      {
        name: 'with hold, what may have been charged is bought again',
        find: '|| (effect.ambiguous && !rebuy)',
        put: '',
      },
      {
        name: 'unread calls are made again without limit',
        find: 'ambiguous >= constants.unreadCalls',
        put: 'ambiguous >= 100',
      },
      {
        name: 'a task that a person ended is opened by a late failure',
        find: "    case 'retry':\n      if (tries.state !== 'open') return null",
        put: "    case 'retry':",
      },
      {
        name: 'a late answer ends a task that was cancelled',
        find: "if (tries.state === 'cancelled' || tries.state === 'reused') return null",
        put: '',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/admission.ts',
    ['test/core/ledger/triage.test.ts'],
    [
      {
        name: 'a query that is being asked is asked again',
        find: 'task.busy || !task.due ||',
        put: '!task.due ||',
      },
      {
        name: 'a task is tried before its time',
        find: 'task.busy || !task.due ||',
        put: 'task.busy ||',
      },
      {
        name: 'the same query goes out twice in one group',
        find: '|| asked.has(task.query_id)',
        put: '',
      },
      {
        name: 'an answer that is there is bought again',
        find: 'else if (task.fresh !== null) {',
        put: 'else if (task.fresh === 0) {',
      },
      {
        name: 'tasks of a run that was closed are bought',
        find: "task.state !== 'open' || !task.run_open",
        put: "task.state !== 'open'",
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/reserve.ts',
    ['test/core/ledger/decide.test.ts'],
    [
      {
        name: "other workers' floor is ignored at the gate",
        find: 'floor: Math.max(spender.floor, books.floor),',
        put: 'floor: spender.floor,',
      },
      {
        name: 'a database that was set back is not noticed at the gate',
        find: 'if (account.seq < begun.seq) {',
        put: 'if (account.seq < 0) {',
      },
      {
        name: 'the gate forgets how far it had seen the calls go',
        find: '  begun.seq = account.seq\n',
        put: '',
      },
      {
        name: 'tasks of a run whose budget is spent stay in hand',
        find: 'gone: [...sorted.gone, ...unaffordable({ admission, sorted })]',
        put: 'gone: [...sorted.gone]',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/reserve.ts',
    ['test/core/ledger/reserve.test.ts', 'test/whole/late-replies.test.ts'],
    [
      {
        name: 'the gate does not say that the lease ran out',
        find: "    if (!leaseLive) return nothing({ kind: 'no_lease' })\n",
        put: '',
      },
      {
        name: 'a reservation without a reply is not remembered',
        find: '    giveUp(spender.givenUp, marks.values())\n',
        put: '',
      },
      {
        name: 'a decision that others overtook counts as written',
        find: 'if (calls === null) return null',
        put: 'if (calls === null) return new Map()',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/reserve.ts',
    ['test/core/ledger/decide.test.ts', 'test/whole/late-replies.test.ts'],
    [
      {
        name: 'calls that were given up are remembered without limit',
        find: 'if (givenUp.size <= mostGivenUp) break',
        put: 'if (givenUp.size > 0) break',
      },
      {
        name: 'a decision for which room is scarce is written whatever others do',
        find: "    deferral.kind === 'none' &&\n",
        put: '',
      },
      {
        name: 'a decision under a budget of the month is written whatever others do',
        find: '    rules.monthlyBudget === null &&\n',
        put: '',
      },
      {
        name: 'a decision under a budget of the day is written whatever others do',
        find: '    rules.dailyBudget === null &&\n',
        put: '',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/settle.ts',
    ['test/core/ledger/match.test.ts'],
    [
      {
        name: 'an answer belongs to whatever call has its number',
        find: 'return call.mark === row.mark && ',
        put: 'return ',
      },
      {
        name: 'an answer belongs to a call of another query',
        find: '&& (answer?.search?.queryId ?? row.query_id) === row.query_id',
        put: '',
      },
      {
        name: 'a late answer to a call that was given up is dropped',
        find: "call.outcome === 'unknown' && (answered",
        put: "call.outcome === 'washed' && (answered",
      },
      {
        name: 'an answer that was written down is written again',
        find: "  return call.outcome === 'unknown' && (",
        put: '  return (',
      },
      {
        name: 'the same call twice in one group counts twice',
        find: 'return [...new Map(matched.map((match) => [match.call.id, match])).values()]',
        put: 'return [...matched]',
      },
      {
        name: 'entries of calls that nobody knows are let go of',
        find: 'strangers: entries.filter((entry) => !ours.has(entry)),',
        put: 'strangers: [],',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/settle.ts',
    ['test/core/ledger/settlement.test.ts'],
    [
      {
        name: 'late answers leave the purse of the run as it was',
        find: 'else sum.uncertain -= bound',
        put: '',
      },
      {
        name: 'a lost call costs its run nothing',
        find: "if (entry.ending.kind === 'unknown') sum.uncertain += bound",
        put: '',
      },
      {
        name: 'a call that ended stays reserved in its run',
        find: 'sum.reserved -= bound',
        put: 'sum.reserved -= 0',
      },
      {
        name: 'a call that was washed out counts as one that is held',
        find: 'else if (!washed) change.uncertain -= bound',
        put: 'else change.uncertain -= bound',
      },
      {
        name: 'two ends of calls of one task are judged as if each were the only one',
        find: 'changes.get(call.task_id) ?? call',
        put: 'call',
      },
      {
        name: 'a refusal for want of credit is not told to the account',
        find: "if (signal === 'no_credit') return [{ kind: 'no_credit', seq: call.start_seq, startedAt }]",
        put: "if (signal === 'no_credit') return []",
      },
    ],
  ),
  ...inFile(
    'src/core/search/verdict.ts',
    ['test/core/search/verdict.test.ts', 'test/core/ledger/entry.test.ts'],
    [
      {
        name: 'a server error is taken for free',
        find: "faulty: { task: 'retry', money: 'unknown', stops: null }",
        put: "faulty: { task: 'retry', money: 'free', stops: null }",
      },
      {
        name: 'a lost reply is taken for free',
        find: "lost: { task: 'retry', money: 'unknown', stops: null }",
        put: "lost: { task: 'retry', money: 'free', stops: null }",
      },
      {
        name: 'an answer that names another query keeps its rows',
        find: "if (origin === 'test' || query === null || isEcho(query, q)) return answer",
        put: "if (origin !== 'sandbox' || query === null || isEcho(query, q)) return answer",
      },
      {
        name: 'a query in other letters counts as another one',
        find: "return named === '' || named === fold(q)",
        put: "return named === ''",
      },
      {
        name: 'an empty echo counts as another query',
        find: "named === '' || named === fold(q)",
        put: 'named === fold(q)',
      },
      {
        name: 'a refusal that was paid for is tried again',
        find: 'creditsUsed !== null && creditsUsed > 0',
        put: 'creditsUsed !== null && creditsUsed < 0',
      },
      {
        name: 'a refusal of the key that was paid for counts as an answer',
        find: 'policy[kind].stops === null && ',
        put: "policy[kind].stops !== 'rate' && ",
      },
    ],
  ),
  ...inFile(
    'src/core/search/parse.ts',
    ['test/core/search/verdict.test.ts'],
    [
      {
        name: 'a price with decimals is cut',
        find: '.transform((credits) => Math.ceil(credits))',
        put: '.transform((credits) => Math.floor(credits))',
      },
      {
        name: 'a balance with decimals is rounded up',
        find: 'Math.floor(credits)',
        put: 'Math.ceil(credits)',
      },
      {
        name: 'what a fraction lacks for want of digits counts as a credit',
        find: 'Math.round(credits * decimals) / decimals',
        put: 'credits + 0 * decimals',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/admission.ts',
    ['test/core/ledger/admit.test.ts'],
    [
      {
        name: 'a probe does not end its group',
        find: '      lastProbeAt: this.rules.now,\n',
        put: '',
      },
      {
        name: 'the gate believes a balance that another key was told',
        find: 'return keys.length === 0 || keys.includes(key)',
        put: 'return keys.length === 0 || key.length > 0',
      },
      {
        name: 'the gate forgets what the balance lost in the stretch before',
        find: 'Math.max(now, last ?? 0)',
        put: 'now',
      },
      {
        name: 'the gate does not expect the balance to fall beyond what bills say',
        find: ' - externalPerCall(account, alone) * (account.inFlight + calls)',
        put: '',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/reserve.ts',
    ['test/core/ledger/reservation.test.ts'],
    [
      {
        name: 'the money of the sandbox does not count',
        find: "counts: spender.origin !== 'test'",
        put: "counts: spender.origin === 'live'",
      },
    ],
  ),
]

export const gateMutants: readonly Mutant[] = [...pure, ...edges]
