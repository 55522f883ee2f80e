// One database with data; each change is made, detected and undone.
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../../src/base/database/database.ts'
import { reparse } from '../../../src/core/runs/reparse.ts'
import { pruneBodies } from '../../../src/features/forget/prune.ts'
import { prove, type Verified } from '../../../src/features/verify/command.ts'
import { startFaulty } from '../../faults/api/standin.ts'
import { type TestMill, testMill } from '../../support/mill.ts'
import { queries } from '../../support/scene.ts'

let api: Awaited<ReturnType<typeof startFaulty>>
let mill: TestMill

beforeAll(async () => {
  api = await startFaulty({ seed: 'tampers', credits: 10_000, kind: 'live', cost: 4 })
  mill = await testMill({ api, settings: { MILL_CREDIT_FLOOR: '100' } })
  await mill.plan(queries(60))
  await mill.drain()
  await sql`
    update raw_answers
    set body = convert_to((
      convert_from(body, 'UTF8')::jsonb
      || '{"cached": true, "ads": [{"link": "https://ads.example.com/offer", "title": "Buy"}]}'
    )::text, 'UTF8')`.execute(mill.db)
  await reparse(mill, { all: true, run: null })
  // One call that was given up, as after the death of a worker, and one answer that arrived afterwards.
  await sql`
    with lost as (
      insert into calls (
        task_id, query_id, account_id, worker, sent_at, finished_at, unknown_at, start_seq, start_total,
        credits_reserved, outcome, probe, class, error_code, error_message
      )
      select
        task_id, query_id, account_id, worker, clock_timestamp(), clock_timestamp(), clock_timestamp(), a.seq + 1,
        a.used_total, 4, 'unknown', false, class, 'WORKER_DIED', 'the worker stopped'
      from calls c
      join accounts a on a.id = c.account_id
      where c.id = (select max(id) from calls)
      returning account_id, task_id
    ),
    purse as (
      update runs set uncertain = uncertain + 4 from lost where runs.id = (select run_id from tasks where id = lost.task_id)
    ),
    tries as (
      update tasks set attempts = attempts + 1, ambiguous = 1 from lost where tasks.id = lost.task_id
    )
    update accounts
    set uncertain = 4, day_spent = day_spent + 4, seq = seq + 1
    from lost where accounts.id = lost.account_id`.execute(mill.db)
})

afterAll(async () => {
  await mill.close()
  await api.close()
})

class Undone extends Error {}

/** Violations found after some statements, which are then undone. */
async function foundAfter(
  tamper: (db: Database) => Promise<unknown>,
  deep = false,
): Promise<Verified> {
  let found: Verified | undefined
  await mill.db
    .transaction()
    .execute(async (trx) => {
      await tamper(trx)
      found = await prove(trx, { zone: 'UTC', deep })
      throw new Undone()
    })
    .catch((error: unknown) => {
      if (!(error instanceof Undone)) throw error
    })
  if (found === undefined) throw new Error('expected checks, got none')
  return found
}

function brokenOf({ checks }: Verified): string[] {
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

const says = 'each answer matches its body'
const oneAnswer = sql`(select id from searches order by id offset 20 limit 1)`

interface Tamper {
  readonly title: string
  readonly by: readonly RawBuilder<unknown>[]
  readonly found: readonly string[]
}

const tampers: readonly Tamper[] = [
  {
    title: 'a halved cost, with all sums that name it',
    by: [
      sql`update calls set credits_used = credits_used / 2 where id = ${oneAnswer}`,
      sql`update accounts set used_total = used_total - 2`,
      sql`update runs set spent = spent - 2`,
      sql`update account_costs set cheapest = 2`,
    ],
    found: [
      'each answer has the cost and the balance of its call',
      'the credits spent since the newest balance match the calls that ended since then',
    ],
  },
  {
    title: 'a halved cost, with all sums and the answer itself',
    by: [
      sql`update calls set credits_used = credits_used / 2 where id = ${oneAnswer}`,
      sql`update searches set credits_used = credits_used / 2 where id = ${oneAnswer}`,
      sql`update accounts set used_total = used_total - 2`,
      sql`update runs set spent = spent - 2`,
      sql`update account_costs set cheapest = 2`,
    ],
    found: [
      says,
      'the credits spent since the newest balance match the calls that ended since then',
    ],
  },
  {
    title: 'no price that was forgotten on request, but what a body says',
    by: [
      sql`update calls set credits_used = 2 where id = ${oneAnswer}`,
      sql`update searches set credits_used = 2 where id = ${oneAnswer}`,
      sql`update accounts set used_total = used_total - 2`,
      sql`update runs set spent = spent - 2`,
      sql`update account_costs set seen = seen - 1`,
    ],
    found: [
      says,
      'the credits spent since the newest balance match the calls that ended since then',
    ],
  },
  {
    title: 'a call nobody could read that is called unsent, with the sums',
    by: [
      sql`update calls set outcome = 'unsent' where outcome = 'unknown'`,
      sql`update accounts set uncertain = 0`,
      sql`update runs set uncertain = 0`,
    ],
    found: [
      'each call with a response or an unknown outcome was sent',
      'no task has more attempts than its calls allow',
    ],
  },
  {
    title: 'a raised balance',
    by: [sql`update accounts set obs_remaining = obs_remaining + 500`],
    found: ['the balance of an account was reported by an answer'],
  },
  {
    title: 'a lowered price',
    by: [
      sql`update account_costs set dearest = 1, cheapest = 1, recent_first = 1, recent_second = 1, earlier_first = 1, earlier_second = 1`,
    ],
    found: [
      'the prices of each price class match the prices that its answers report',
      'reservations are no lower than the last prices',
    ],
  },
  {
    title: 'a lowered price of lately',
    by: [sql`update account_costs set recent_first = 1, earlier_first = 1`],
    found: ['reservations are no lower than the last prices'],
  },
  {
    title: 'an answer that was deleted, with its task opened again',
    by: [
      sql`update tasks set state = 'open', search_id = null, finished_at = null, attempts = 0 where search_id = ${oneAnswer}`,
      sql`update slices set done_at = null`,
      sql`update runs set state = 'open', finished_at = null`,
      sql`delete from organic_results where search_id = ${oneAnswer}`,
      sql`delete from search_entities where search_id = ${oneAnswer}`,
      sql`delete from search_clusters where search_id = ${oneAnswer}`,
      sql`delete from search_related_searches where search_id = ${oneAnswer}`,
      sql`delete from search_features where search_id = ${oneAnswer}`,
      sql`delete from searches where id = ${oneAnswer}`,
    ],
    found: ['each answered call has its answer, unless the tables rejected that answer'],
  },
  {
    title: 'the oldest body gone',
    by: [sql`delete from raw_answers where call_id = (select min(call_id) from raw_answers)`],
    found: [
      'each response has its body, unless bodies of its age were pruned or archived',
      'no more bodies are missing than were pruned, archived or forgotten',
    ],
  },
  {
    title: 'an answer that claims to be in the archive',
    by: [sql`update searches set archived = true where id = ${oneAnswer}`],
    found: [
      'each archived answer belongs to an archived day, and each archived day has its recorded number of answers',
      'no archived answer still has rows or a body in the tables',
    ],
  },
  {
    title: 'every title changed',
    by: [sql`update organic_results set title = title || '!'`],
    found: [says],
  },
  { title: 'all entities gone', by: [sql`delete from search_entities`], found: [says] },
  {
    title: 'what the interface does not name emptied',
    by: [sql`update searches set extra = null`],
    found: [says],
  },
  {
    title: 'a changed text of a query',
    by: [sql`update queries set q = 'another' where q = 'query 7'`],
    found: ['the key of each query is derived from its parameters', says],
  },
  {
    title: 'another device of a query',
    by: [sql`update queries set device = 'mobile' where q = 'query 7'`],
    found: ['the key of each query is derived from its parameters'],
  },
  {
    title: 'a renamed page',
    by: [
      sql`update pages set url = url || 'x' where id = (select page_id from organic_results limit 1)`,
    ],
    found: ['the id of each page is derived from its address', says],
  },
  {
    title: 'a renamed host',
    by: [
      sql`update domains set host = 'elsewhere.example' where id = (select domain_id from organic_results limit 1)`,
    ],
    found: ['the id of each domain is derived from its host', says],
  },
  {
    title: 'another key of every page',
    by: [sql`update pages set url_key = 'same'`],
    found: [says, 'the id of each page is derived from its address'],
  },
  {
    title: 'another key of the page of an ad',
    by: [sql`update pages set url_key = 'same' where url = 'https://ads.example.com/offer'`],
    found: [says, 'the id of each page is derived from its address'],
  },
  {
    title: 'an ad without its page',
    by: [sql`update search_features set page_id = gen_random_uuid() where page_id is not null`],
    found: ['each item of a SERP feature names a known page and a known host'],
  },
  {
    title: 'a renamed entity, topic and related query',
    by: [
      sql`update entities set name = name || 'x'`,
      sql`update clusters set label = label || 'x'`,
      sql`update related_searches set q = q || 'x'`,
    ],
    found: [
      'the id of each entity is derived from its name and type',
      'the id of each topic is derived from its label',
      'the id of each related search is derived from its text',
      says,
    ],
  },
  {
    title: 'a moved time of an answer',
    by: [
      sql`update searches set fetched_at = fetched_at + interval '1 second' where id = ${oneAnswer}`,
    ],
    found: ['each answer was received while its call was in flight'],
  },
  {
    title: 'a moved time of an answer and its body',
    by: [
      sql`update searches set fetched_at = fetched_at - interval '1 day' where id = ${oneAnswer}`,
      sql`update raw_answers set received_at = received_at - interval '1 day' where call_id = ${oneAnswer}`,
    ],
    found: ['each answer was received while its call was in flight'],
  },
  {
    title: 'shifted counts of a run',
    by: [sql`update runs set rows = rows + 1, accepted = accepted + 1`],
    found: ['no run has more accepted lines than tasks'],
  },
  {
    title: 'fewer credits on the day',
    by: [sql`update accounts set day_spent = day_spent - 1`],
    found: ['the credits counted for the day cover the calls that began on that day'],
  },
  {
    title: 'more tries than calls',
    by: [sql`update tasks set attempts = attempts + 1 where search_id = ${oneAnswer}`],
    found: ['no task has more attempts than its calls allow'],
  },
  {
    title: 'a task that is called forgotten and is still there, with what its call asked',
    by: [
      sql`insert into forgotten_tasks (task_id, run_id) select id, run_id from tasks order by id limit 1`,
      // The totals of its run then count its calls twice.
      sql`update runs set spent = spent + 4`,
    ],
    found: ['no request or response for a forgotten query is left'],
  },
  {
    title: 'a key in a message of a call',
    by: [
      sql`update calls set error_message = 'refused sk_live_fake0000' where outcome = 'unknown'`,
    ],
    found: ['no message contains an API key'],
  },
  {
    title: 'a key in what a stop says',
    by: [
      sql`insert into stops (account_id, reason, detail) select id, 'auth', 'sk_test_fake0000' from accounts`,
    ],
    found: ['no message contains an API key'],
  },
  {
    title: 'balances below the floor',
    by: [
      sql`update calls set credits_remaining = 50`,
      sql`update searches set credits_remaining = 50`,
      sql`update accounts set obs_remaining = 50`,
    ],
    found: [
      'no call began that would have crossed the credit floor according to the newest reported balance',
      'no lower bound on a balance is above a reported balance',
      says,
    ],
  },
]

/** Changes that also violate other checks, depending on the order in which calls returned. */
const wider: readonly (readonly [string, string, RawBuilder<unknown>])[] = [
  [
    'an answer of another task',
    'answers, calls and tasks name the same task and query',
    sql`update searches set task_id = task_id + 1 where id = ${oneAnswer}`,
  ],
  [
    'a call of another query than its task',
    'answers, calls and tasks name the same task and query',
    sql`update calls set query_id = (select min(id::text)::uuid from queries) where id = ${oneAnswer}`,
  ],
  [
    'a call that was removed',
    'the calls of an account are numbered without gaps',
    sql`delete from calls where id = ${oneAnswer}`,
  ],
  [
    'a number of calls that was lowered',
    'the calls of an account are numbered without gaps',
    sql`update accounts set seq = seq - 1`,
  ],
  [
    'two calls in one place',
    'the calls of an account are numbered without gaps',
    sql`update calls set start_seq = start_seq + 1 where id = ${oneAnswer}`,
  ],
  [
    'a budget below what was spent',
    'no run spent more than its budget, apart from calls that cost more than was reserved',
    sql`update runs set budget = spent - 1`,
  ],
  [
    'a budget of a list below what was spent',
    'no list spent more than its budget in this month, apart from calls that cost more than was reserved',
    sql`update lists set budget = 10`,
  ],
  [
    'a failed task that has an answer',
    'no task that is open, failed or unknown has an answer that may be used',
    sql`update tasks set state = 'failed', search_id = null where search_id = ${oneAnswer}`,
  ],
  [
    'less that was spent since the newest balance',
    'the credits spent since the newest balance match the calls that ended since then',
    sql`update accounts set spent_since = spent_since - 4`,
  ],
  [
    'a bound of the balance that was raised',
    'no lower bound on a balance is above a reported balance',
    sql`update accounts set told_least = told_least + 1000, next_told_seq = 0, next_told_least = 10000`,
  ],
  [
    'more bodies gone than were pruned',
    'no more bodies are missing than were pruned, archived or forgotten',
    sql`
      with pruned as (
        insert into prunings (received_before, bodies) values (clock_timestamp() + interval '1 hour', 59)
      )
      delete from raw_answers`,
  ],
  [
    'answers to other queries that nobody counted',
    'each account counts the answers that named another query',
    sql`update searches set parse_error = 'it answers another query: "x"' where id = ${oneAnswer}`,
  ],
  [
    'an answered task that is called open',
    'no task that is open, failed or unknown has an answer that may be used',
    sql`update tasks set state = 'open', search_id = null, finished_at = null where search_id = ${oneAnswer}`,
  ],
  [
    'an answered task that is called unknown',
    'no task that is open, failed or unknown has an answer that may be used',
    sql`update tasks set state = 'unknown', search_id = null where search_id = ${oneAnswer}`,
  ],
  [
    'a task with the answer of another one',
    'each answered, reused or not asked task has an answer, and no other task has one',
    sql`update tasks set search_id = search_id + 1 where search_id = ${oneAnswer}`,
  ],
  [
    'a task that was removed',
    'the credits of each run match its calls',
    sql`delete from tasks where search_id = ${oneAnswer}`,
  ],
  [
    'less spent by a run',
    'the credits of each run match its calls',
    sql`update runs set spent = spent - 4`,
  ],
  [
    'fewer credits in the month',
    'the credits counted for the month cover the calls that began in that month',
    sql`update accounts set month_spent = month_spent - 5`,
  ],
  [
    'more credits held than lost calls hold',
    'the credits held by an account match its calls with an unknown outcome',
    sql`update accounts set uncertain = uncertain + 4`,
  ],
  [
    'a call of an account that never made it',
    'the credits used by an account match its settled calls',
    sql`update calls set account_id = account_id + 1 where id = ${oneAnswer}`,
  ],
  [
    'a number of calls that was raised',
    'the calls of an account are numbered without gaps',
    sql`update accounts set seq = seq + 1`,
  ],
  [
    'a settled call that is called unsent',
    'each call with a response or an unknown outcome was sent',
    sql`update calls set outcome = 'unsent' where id = ${oneAnswer}`,
  ],
  [
    'a balance that an answer never told',
    'each answer has the cost and the balance of its call',
    sql`update calls set credits_remaining = credits_remaining + 500 where id = ${oneAnswer}`,
  ],
  [
    'more that was spent since the newest balance',
    'the credits spent since the newest balance match the calls that ended since then',
    sql`update accounts set spent_since = spent_since + 40`,
  ],
  [
    'answers without a balance left out of a bound',
    'no lower bound on a balance is above a reported balance',
    sql`
      with silent as (
        update calls set credits_remaining = null where id = ${oneAnswer}
      )
      update accounts set told_seq = 0, told_least = 0, told_untold = 0`,
  ],
  [
    'bodies of two answers in each other’s place',
    says,
    sql`
      update raw_answers set body = other.body
      from raw_answers other
      where raw_answers.call_id in (${oneAnswer}, ${oneAnswer} + 1)
        and other.call_id = 2 * ${oneAnswer} + 1 - raw_answers.call_id`,
  ],
  [
    'an answer that names another query and is believed',
    says,
    sql`
      update raw_answers
      set body = convert_to(
        (convert_from(body, 'UTF8')::jsonb || '{"query": "how to wash headlamp"}')::text, 'UTF8'
      )
      where call_id = ${oneAnswer}`,
  ],
  [
    'a result that was removed',
    'the result count of each answer equals its number of results',
    sql`delete from organic_results where search_id = ${oneAnswer} and position = 1`,
  ],
  [
    'an answer of another origin',
    'each answer has the same origin as the account of its call',
    sql`update searches set origin = 'sandbox' where id = ${oneAnswer}`,
  ],
  [
    'a run that is called suspect for no reason',
    'a run is suspect if and only if its judgement has a reason',
    sql`update runs set suspect = not suspect`,
  ],
  [
    'a query that was bought twice at once',
    'no query had two calls in flight when one answer would have served both',
    sql`
      with later as (
        update calls
        set query_id = first.query_id, sent_at = first.sent_at + interval '1 microsecond', max_age_ms = 60000
        from calls first
        where calls.id = first.id + 1 and first.id = ${oneAnswer}
      )
      update calls set finished_at = sent_at + interval '1 minute' where id = ${oneAnswer}`,
  ],
]

describe('a change found by verify', () => {
  test.each(wider)('is %s', async (_, promise, statement) => {
    expect(brokenOf(await foundAfter((db) => statement.execute(db)))).toContain(promise)
  })

  test('is none if nothing was changed', async () => {
    expect(brokenOf(await prove(mill.db, { zone: 'UTC', deep: true }))).toEqual([])
  })

  test.each(tampers)('is $title', async ({ by, found }) => {
    const verified = await foundAfter(async (db) => {
      for (const statement of by) await statement.execute(db)
    })
    expect(brokenOf(verified).toSorted()).toEqual(found.toSorted())
  })

  test('is not a pruned body, but verify reports that its answer cannot be checked', async () => {
    const verified = await foundAfter(async (db) => pruneBodies(db, 0))
    expect(brokenOf(verified)).toEqual([])
    expect(verified.unproved).toContain('the content of 60 answers with pruned or forgotten bodies')
  })
})
