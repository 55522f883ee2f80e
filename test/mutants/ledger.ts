import { inFile, type Mutant } from './mutant.ts'

const reserving = ['test/core/ledger/reservation.test.ts']
const settling = ['test/core/ledger/settle-statement.test.ts']
const interleaved = 'test/core/ledger/interleaving.test.ts'

export const ledgerMutants: readonly Mutant[] = [
  ...inFile('sql/statements/reserve_calls.sql', reserving, [
    {
      name: 'a decision of the time before a standby took over is written',
      find: ' or coalesce(a.history = given.history, true))',
      put: ' or true)',
    },
    {
      name: 'a balance of the time before a standby took over is believed after one call',
      find: 'when accounts.history <> given.history then accounts.seq',
      put: 'when false then accounts.seq',
    },
    {
      name: 'a reservation is written after the lease ran out',
      find: "w.id = (it ->> 'worker')::bigint and w.stopped_at is null and w.lease_until > clock_timestamp()",
      put: "w.id = (it ->> 'worker')::bigint and w.stopped_at is null",
    },
    {
      name: 'a worker that was closed reserves',
      find: "w.id = (it ->> 'worker')::bigint and w.stopped_at is null and w.lease_until > clock_timestamp()",
      put: "w.id = (it ->> 'worker')::bigint and w.lease_until > clock_timestamp()",
    },
    {
      name: 'a reservation is written although a task of it was bought meanwhile',
      find: '    and not exists (select from changed_tasks)\n',
      put: '',
    },
    {
      name: 'a task whose row changed is bought all the same',
      find: 'where t.xmin::text is distinct from w.version\n',
      put: 'where false\n',
    },
    {
      name: 'a task of a run that was closed meanwhile is bought',
      find: "    or r.state <> 'open'\n",
      put: '',
    },
    {
      name: 'a query that another call of the account asks meanwhile is bought',
      find: 'select c.task_id = t.id or c.account_id = given.account or r.max_age_ms > 0',
      put: 'select c.task_id = t.id or r.max_age_ms > 0',
    },
    {
      name: 'a task that another kind of account buys meanwhile is bought',
      find: 'select c.task_id = t.id or c.account_id = given.account',
      put: 'select c.account_id = given.account',
    },
    {
      name: 'a query that was answered meanwhile is bought',
      find: '    or not w.reused and r.max_age_ms > 0 and exists (',
      put: '    or false and exists (',
    },
    {
      name: "a run's budget that another account drew on meanwhile is spent twice",
      find: '    and not exists (select from changed_runs)\n',
      put: '',
    },
    {
      name: 'any decision is written whatever others did meanwhile',
      find: "        (it ->> 'steady')::boolean\n        and a.drained_floor is null",
      put: '        a.drained_floor is null',
    },
    {
      name: 'a steady decision is written although the account drained meanwhile',
      find: '        and a.drained_floor is null\n',
      put: '',
    },
    {
      name: 'a steady decision is written although the API asked to wait meanwhile',
      find: '        and (a.not_before is null or a.not_before <= clock_timestamp())\n',
      put: '',
    },
    {
      name: 'a steady decision is written although its key was refused meanwhile',
      find: "        and not it ->> 'key' = any(a.blocked_keys || a.foreign_keys)\n",
      put: '',
    },
    {
      name: 'a steady decision of yesterday is written today',
      find: "        and a.day::text = it -> 'state' ->> 'day'\n",
      put: '',
    },
    {
      name: 'a steady decision is written although its class became dearer',
      find: '        and not exists (select from dearer)\n',
      put: '',
    },
    {
      name: 'the statement does not look at the floor',
      find: '        end - a.reserved - a.uncertain - bound -',
      put: '        end + 1e9 -',
    },
    {
      name: 'the statement lets what it reserves go below the floor',
      find: 'end - a.reserved - a.uncertain - bound -',
      put: 'end - a.reserved - a.uncertain -',
    },
    {
      name: "the statement ignores other workers' floor",
      find: '            select max(w.floor)::float8\n',
      put: '            select max(w.floor)::float8 - 1e9\n',
    },
    {
      name: 'what is reserved does not lower the balance for others',
      find: '    reserved = accounts.reserved + given.bound,\n',
      put: '    reserved = accounts.reserved,\n',
    },
    {
      name: 'what others wrote meanwhile is overwritten by a steady decision',
      find: 'day_spent = case when same then n.day_spent else accounts.day_spent end',
      put: 'day_spent = n.day_spent',
    },
    {
      name: "what is reserved does not count in its run's purse",
      find: '  set reserved = runs.reserved + r.reserved\n',
      put: '  set reserved = runs.reserved\n',
    },
    {
      name: 'what other runs drew on the budget of a list is not looked at again',
      find: '    or l.budget is not null and exists (',
      put: '    or false and exists (',
    },
    {
      name: 'a budget that the run was given meanwhile is not seen',
      find: '  where r.budget is distinct from w.budget\n    or w.budget is not null',
      put: '  where w.budget is not null',
    },
    {
      name: 'a budget that its list was given meanwhile is not seen',
      find: "    or l.budget is distinct from (w.list ->> 'budget')::bigint\n",
      put: '',
    },
    {
      name: 'a query that another account asks meanwhile is bought beside it',
      find: ' or r.max_age_ms > 0 and c.account_id = any(peers)',
      put: '',
    },
    {
      name: 'the statement does not expect the balance to fall beyond what bills say',
      find: " - (it ->> 'external')::bigint * (a.in_flight + grants)",
      put: '',
    },
    {
      name: 'the statement believes a balance that another key was told',
      find: " or a.keys = '{}' or it ->> 'key' = any(a.keys))",
      put: ' or true)',
    },
    {
      name: 'the statement ignores the cap on calls in flight',
      find: 'and (grants = 0 or a.in_flight',
      put: 'and (grants >= 0 or a.in_flight',
    },
    {
      name: 'a steady decision is written into another month',
      find: "        and a.month::text = it -> 'state' ->> 'month'\n",
      put: '',
    },
    {
      name: 'a task in flight is given up as unaffordable',
      find: '    and not exists (select from calls c where c.task_id = tasks.id and c.outcome is null)\n',
      put: '',
    },
    {
      name: 'a task whose answer is there is given up as unaffordable',
      find: "              and s.api = it ->> 'api'\n          )\n          or",
      put: '              and false\n          )\n          or',
    },
    {
      name: 'a task whose query is being asked is given up as unaffordable',
      find: 'c.query_id = t.query_id and c.account_id = given.account and c.outcome is null',
      put: 'false',
    },
    {
      name: 'a task whose answer was lost a moment ago is given up as unaffordable',
      find: 'where c.task_id = t.id and c.unknown_at > clock_timestamp() - :lost_ms',
      put: 'where false',
    },
    {
      name: 'whoever buys waits until all is given up that a budget does not cover',
      find: '    limit :most_given_up::integer\n',
      put: '    limit :most_given_up::integer * 1000\n',
    },
    {
      name: 'what is given up comes from anywhere in its run',
      find: '    order by tasks.slice\n    limit',
      put: '    order by tasks.slice desc\n    limit',
    },
  ]),
  ...inFile('sql/statements/settle_calls.sql', settling, [
    {
      name: 'calls that are settled just now are washed as well',
      find: ' and not c.id = any(ended_calls)',
      put: '',
    },
    {
      name: 'the last arrival tells the balance',
      find: 'n.seq is not null and n.seq > coalesce(a.obs_seq, 0) as newer',
      put: 'n.seq is not null as newer',
    },
    {
      name: 'a balance leaves the permission for a probe',
      find: 'accounts.probe_granted and not coalesce((drained or newer) and seen_at >= accounts.last_probe_at, false)',
      put: 'accounts.probe_granted',
    },
    {
      name: 'any balance ends the permission for a probe, also that of a call before it',
      find: '(drained or newer) and seen_at >= accounts.last_probe_at, false)',
      put: '(drained or newer), false)',
    },
    {
      name: 'the statement gives credits free without waiting for the server',
      find: "      when c.unknown_at + :grace_ms::float8 * interval '1 millisecond' <= seen_at then 0\n",
      put: '      when c.unknown_at <= seen_at then 0\n',
    },
    {
      name: 'waits grow without a ceiling in the statement',
      find: '            :longest_slowdown_ms::float8,\n',
      put: '            :longest_slowdown_ms::float8 * 1e6,\n',
    },
    {
      name: 'each refusal of a burst makes the wait longer in the statement',
      find: 'to_timestamp(s.started_at_ms / 1000) < balance_after.not_before then balance_after.slowdowns',
      put: 'to_timestamp(s.started_at_ms / 1000) < balance_after.not_before then balance_after.slowdowns + 1',
    },
    {
      name: 'any key may tell the balance of the account',
      find: "      a.keys = '{}' or it ->> 'key' = any(a.keys) as is_known,\n",
      put: '      true as is_known,\n',
    },
    {
      name: 'two keys in use are never taken for those of two accounts',
      find: '          and w.stopped_at is null\n          and w.lease_until > clock_timestamp()\n      ),\n',
      put: '          and false\n      ),\n',
    },
    {
      name: 'a foreign key is used on',
      find: "when is_foreign then accounts.foreign_keys || array[it ->> 'key'] else",
      put: 'when is_foreign then accounts.foreign_keys else',
    },
    {
      name: 'the price of an answer to a foreign key is in no bound of the balance',
      find: "case when is_foreign then 'used' else 'untold' end",
      put: "case when is_foreign then 'untold' else 'untold' end",
    },
    {
      name: 'what the balance falls beyond bills is not measured',
      find: 'then least(1000000, ceil(greatest(0, missing)::numeric / (ended - external_ended)))::integer',
      put: 'then 0',
    },
    {
      name: 'calls whose bill is not known count as external spend',
      find: "          (in_flight + (change ->> 'in_flight')::integer) * (select max(dearest) from bounds)\n",
      put: '          0\n',
    },
    {
      name: 'external spend is forgotten with the stretch in which it was seen',
      find: '      when measured and whole then per_call\n      when newer and not measured',
      put: '      when measured and whole then 0\n      when newer and not measured',
    },
    {
      name: 'repeats are trusted after a wrong answer',
      find: "when (change ->> 'wrong_answers')::integer = 0 then accounts.replay_ms end",
      put: 'when true then accounts.replay_ms end',
      tests: ['test/whole/untrue-bills.test.ts'],
    },
    {
      name: 'a call may end before it began',
      find: 'finished_at = greatest(calls.sent_at, case',
      put: 'finished_at = greatest(null, case',
      tests: ['test/whole/untrue-bills.test.ts'],
    },
    {
      name: 'one refused key pushes another out',
      find: '        union\n        select unnest(accounts.blocked_keys)\n',
      put: '',
    },
    {
      name: 'of many refused keys some are tried again',
      find: "        select jsonb_array_elements_text(change -> 'refused_keys')\n        union\n        select unnest(accounts.blocked_keys)\n",
      put: "        (select jsonb_array_elements_text(change -> 'refused_keys') union select unnest(accounts.blocked_keys) order by 1 limit 8)\n",
    },
    {
      name: 'a call that changed meanwhile is settled as it was read',
      find: 'select case when exists (select from changed) then ledger_changed() else true end as written',
      put: 'select case when exists (select from changed) then true else true end as written',
    },
    {
      name: 'a call whose number another query has by now is settled',
      find: "    or calls.mark is distinct from (known ->> 'mark')::uuid\n",
      put: '',
    },
    {
      name: 'a call that was settled meanwhile is settled twice',
      find: "    or calls.outcome is distinct from known ->> 'was'\n",
      put: '',
    },
    {
      name: 'a call that was washed out meanwhile is taken for held',
      find: "    or (calls.washed_at is not null) <> (known ->> 'was_washed')::boolean\n",
      put: '',
    },
    {
      name: 'a task that changed meanwhile is judged as it was read',
      find: "where tasks.xmin::text is distinct from known ->> 'version'\n",
      put: 'where false\n',
    },
    {
      name: 'what is held less stays uncertain in its run',
      find: '      select run_id, 0, bound - credits_reserved, 0\n',
      put: '      select run_id, 0, 0, 0\n',
    },
    {
      name: 'an old refusal for want of credit drains the account in the statement',
      find: 'n.seq >= greatest(account_before.obs_seq, case when account_before.newer then account_before.newest_seq end, 0) as drained',
      put: 'true as drained',
    },
    {
      name: 'prices fill up for ever in the statement',
      find: 'coalesce(o.recent_count, 0) + p.count >= :trusted_after::integer as filled',
      put: 'false as filled',
    },
    {
      name: 'a late answer takes the place of the answer that the task has',
      find: "      coalesce(tasks.search_id, (t ->> 'search_id')::bigint),\n",
      put: "      (t ->> 'search_id')::bigint,\n",
      survives:
        'a task that has an answer is not judged again: the statement holds it a second time',
      tests: [interleaved],
    },
  ]),
  ...inFile(
    'sql/statements/lock_account.sql',
    ['test/core/ledger/at-once.test.ts'],
    [
      {
        name: 'the account is not taken before it is written',
        find: ' for no key update',
        put: '',
      },
    ],
  ),
  ...inFile(
    'sql/statements/lock_runs.sql',
    ['test/core/ledger/at-once.test.ts'],
    [
      {
        name: 'the runs are not taken before they are written',
        find: ' for no key update',
        put: '',
        survives:
          'reservations of all accounts that share a run already wait for each other; this lock only keeps settlements of several runs from deadlocks',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/standstill.ts',
    ['test/core/ledger/floor.test.ts'],
    [
      {
        name: 'the floor in force is that of workers that died, too',
        find: ' and w.lease_until > clock_timestamp()',
        put: '',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/waiting.ts',
    ['test/core/ledger/reservation.test.ts'],
    [
      {
        name: 'a query is busy only for its own task',
        find: 'select c.task_id = t.id or c.account_id = a.id or r.max_age_ms > 0 and c.account_id = any(buyers.peers)',
        put: 'select c.task_id = t.id',
      },
      {
        name: 'an answer from before a purchase that was asked for is taken',
        find: '            and (t.answers_after is null or s.fetched_at > t.answers_after)\n',
        put: '',
      },
      {
        name: 'an answer that cannot be read is preferred to an older one that can',
        find: 'order by s.parse_error is not null, s.fetched_at desc',
        put: 'order by s.fetched_at desc',
      },
      {
        name: 'a lost answer is asked for again without a pause',
        find: 'c.asked_again_at is null\n          or c.asked_again_at',
        put: 'true\n          or c.asked_again_at',
        tests: ['test/core/ledger/lost-answers.test.ts'],
      },
      {
        name: 'the budget of a list counts the runs of its year',
        find: "date_trunc('month', o.run_date) = date_trunc('month', r.run_date)",
        put: "date_trunc('year', o.run_date) = date_trunc('year', r.run_date)",
      },
      {
        name: 'the budget of a list does not count what is in flight',
        find: "'reserved', sum(o.reserved)::float8",
        put: "'reserved', 0",
      },
      {
        name: 'an answer of another API is reused',
        find: '            and s.api = ${wanted.api}\n',
        put: '',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/leases.ts',
    ['test/core/ledger/leases.test.ts'],
    [
      {
        name: 'calls of workers that were closed are never given up',
        find: ", eb('workers.stopped_at', 'is not', null)]",
        put: ']',
      },
      {
        name: 'calls are given up although their worker lives',
        find: "eb.or([eb('workers.lease_until', '<', clock),",
        put: "eb.or([eb.lit(true), eb('workers.lease_until', '<', clock),",
      },
      {
        name: 'only the first hundred calls of dead workers are given up at once',
        find: 'found === together; reaped',
        put: 'reaped === 0 && found === together; reaped',
      },
      {
        name: 'calls that this process does not know are released',
        find: "\n      .where((eb) => eb('mark', '=', eb.fn.any(eb.val([...givenUp]))))",
        put: '',
      },
      {
        name: 'a worker takes over the entry of another one with its number',
        find: "\n      .where('host', '=', hostname())\n      .where('pid', '=', process.pid)",
        put: '',
      },
    ],
  ),
  ...inFile(
    'src/base/database/database.ts',
    ['test/base/database/pipelining.test.ts'],
    [
      {
        name: 'nobody waits for a commit',
        find: '      for (const answer of answers) await answer\n',
        put: '',
      },
      {
        name: 'a transaction that failed is left open',
        find: 'if (!committed && settled.length > 0) {',
        put: 'if (committed && settled.length > 0) {',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/account.ts',
    ['test/features/admin/budget.test.ts'],
    [
      {
        name: 'a list is given a budget of less than is used',
        find: 'if (most >= gone) continue',
        put: 'if (most >= 0) continue',
      },
    ],
  ),
  ...inFile(
    'src/features/expand/statements.ts',
    ['test/features/expand/expand.test.ts'],
    [
      {
        name: 'calls whose reply was lost do not draw on the credits of an expansion',
        find: ".else(eb.ref('calls.credits_reserved'))",
        put: '.else(eb.lit(0))',
      },
    ],
  ),
]
