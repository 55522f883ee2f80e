import { inFile, type Mutant } from './mutant.ts'

const tampers = ['test/features/verify/verify.test.ts', 'test/features/verify/tampers.test.ts']

const statements = ['test/features/analysis/statement.test.ts']

export const proofMutants: readonly Mutant[] = [
  ...inFile('sql/statements/store_statement.sql', statements, [
    {
      name: 'lines are stored although a call in flight may overlap',
      find: 'and calls.outcome is null\n',
      put: 'and false\n',
    },
  ]),
  ...inFile('sql/schema/ledger.sql', statements, [
    {
      name: 'stored lines stay although a call that they explain has changed',
      find: '    and next_seq > old.start_seq;',
      put: '    and false;',
    },
  ]),
  ...inFile('sql/views/money/statement_ends.sql', statements, [
    {
      name: 'stored lines are used although a later call has an earlier start',
      find: 'and calls.sent_at <= marks.ended_at',
      put: 'and false',
    },
  ]),
  ...inFile('sql/checks/accounts.sql', tampers, [
    {
      name: 'verify does not look at the credits used by an account',
      find: 'where a.used_total <> paid.used',
      put: 'where false',
    },
    {
      name: 'verify does not look at what is set aside',
      find: 'where a.reserved <> held.bound or a.in_flight <> held.calls',
      put: 'where a.in_flight <> held.calls',
    },
    {
      name: 'verify does not look at what is held',
      find: 'where a.uncertain <> held.bound',
      put: 'where false',
    },
    {
      name: 'verify does not look for gaps in the numbers of calls',
      find: 'where (a.seq, a.seq, a.seq) is distinct from',
      put: 'where false and (a.seq, a.seq, a.seq) is distinct from',
    },
    {
      name: 'verify does not count answers to other queries',
      find: 'where a.wrong_answers < (',
      put: 'where 0 > (',
    },
  ]),
  ...inFile('sql/checks/tasks.sql', tampers, [
    {
      name: "verify does not look at what a run's purse has reserved",
      find: 'r.reserved <> coalesce(sums.reserved, 0)',
      put: 'false',
    },
    {
      name: "verify does not look at what a run's purse has spent",
      find: 'or r.spent <> coalesce(sums.spent, 0)',
      put: '',
    },
    {
      name: 'verify does not look at what a run holds for calls with an unknown outcome',
      find: 'or r.uncertain <> coalesce(sums.uncertain, 0)',
      put: '',
    },
    {
      name: 'verify does not look at the budget of a run',
      find: 'where r.spent + r.uncertain > r.budget + (',
      put: 'where r.spent < 0 * r.budget + (',
    },
    {
      name: 'verify does not look at the budgets of lists',
      find: 'where l.budget is not null',
      put: 'where l.budget is null',
    },
    {
      name: 'verify lets a task have the answer of another query',
      find: 's.query_id <> t.query_id)',
      put: 'false)',
    },
  ]),
  ...inFile('sql/checks/calls.sql', tampers, [
    {
      name: 'verify lets a task have two calls in flight',
      find: 'group by task_id having count(*) > 1',
      put: 'group by task_id having count(*) > 2',
    },
    {
      name: 'verify lets a task be paid twice',
      find: '  and again.credits_used > 0\n',
      put: '  and false\n',
    },
  ]),
  ...inFile('src/features/verify/command.ts', tampers, [
    {
      name: 'verify does not read bodies',
      find: 'if (rows === undefined || !isSame(answer, rows, proof)) violations += 1',
      put: '',
    },
    {
      name: 'verify does not read pages',
      find: 'violations += stored.filter((page) => !isDeepStrictEqual(page, pages.get(page.url))).length',
      put: 'violations += stored.length * 0 * pages.size',
    },
  ]),
]
