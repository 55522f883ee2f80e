// @module-tag slow
import { expect, test } from 'vitest'
import { storyScene } from './scene.ts'

const scene = storyScene()
const { ask } = scene

test('the mix of intents is computed by weight, for each label', async () => {
  scene.story.says('shoes', { weight: 3, tags: ['red'] })
  await scene.story.night('2026-01-01', {
    shoes: { intent: 'buy', sentiment: 'good' },
    boots: { intent: 'know' },
  })
  expect(
    await ask(`select tag, kind, label, queries, share from analysis.label_mix
      where tag not like 'list=%' order by tag, kind, label`),
  ).toEqual([
    ['*', 'intent', 'buy', 1, 0.75],
    ['*', 'intent', 'know', 1, 0.25],
    ['*', 'sentiment', 'good', 1, 0.75],
    ['*', 'sentiment', null, 1, 0.25],
    ['red', 'intent', 'buy', 1, 1],
    ['red', 'sentiment', 'good', 1, 1],
  ])
})

test('a label that differs from that of the previous answer is a change', async () => {
  await scene.story.night('2026-01-01', { shoes: { intent: 'buy', sentiment: 'good' } })
  await scene.story.night('2026-01-02', { shoes: { intent: 'know', sentiment: 'good' } })
  expect(
    await ask('select run_date, kind, previous_label, label from analysis.label_changes'),
  ).toEqual([['2026-01-02', 'intent', 'buy', 'know']])
})

test('coverage distinguishes not answered from not asked, and the counts add up', async () => {
  await scene.story.night('2026-01-01', { old: ['a.com/'] })
  await scene.story.night('2026-01-02', {
    good: ['a.com/'],
    bad: { unreadable: true },
    lost: 'unknown',
    never: 'failed',
    old: 'reused',
  })
  expect(
    await ask(`select planned, answered, bought, reused, unreadable, failed, unknown, share
      from analysis.coverage where run_date = '2026-01-02'`),
  ).toEqual([[5, 2, 1, 1, 1, 1, 1, 0.4]])
})

test('coverage says why queries have no answer, with singular forms', async () => {
  await scene.story.night('2026-01-01', { a: 'failed', b: 'failed', lost: 'unknown' })
  expect(await ask("select why from analysis.coverage where run_date = '2026-01-01'")).toEqual([
    ['2 queries failed; 1 call has an unknown outcome'],
  ])
})

test('skipped queries are covered by their last answer, and counted separately', async () => {
  await scene.story.night('2026-01-01', { old: ['a.com/'], rests: ['a.com/'] })
  await scene.story.night('2026-01-02', { good: ['a.com/'], old: 'reused', rests: 'not_asked' })
  expect(
    await ask(`select planned, answered, bought, reused, not_asked, share
      from analysis.coverage where run_date = '2026-01-02'`),
  ).toEqual([[3, 3, 1, 1, 1, 1]])
})

test('a query that one list skips on the day that another buys it counts as bought', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: ['b.com/'] }, { list: 'second' })
  await scene.story.night('2026-01-02', { shoes: 'not_asked' })
  const counted = `select list, bought, not_asked from analysis.coverage
    where run_date = '2026-01-02' order by 1`
  expect(await ask(counted)).toEqual([
    ['main', 1, 0],
    ['second', 1, 0],
  ])
})

test('a query in two runs of a day counts once, by the most informative state', async () => {
  await scene.story.night('2026-01-01', {
    a: 'cancelled',
    b: 'failed',
    c: 'cancelled',
    d: ['a.com/'],
  })
  await scene.story.night(
    '2026-01-01',
    { a: 'unknown', b: 'unknown', c: 'cancelled', d: 'failed' },
    { kind: 'manual' },
  )
  expect(
    await ask('select planned, answered, failed, unknown, cancelled, share from analysis.coverage'),
  ).toEqual([[4, 1, 0, 2, 1, 0.25]])
})

test('a query that has left its list has no weight from it', async () => {
  scene.story.says('shoes', { weight: 9 })
  await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: ['a.com/'] }, { list: 'one' })
  scene.story.says('shoes', { weight: 2 })
  await scene.story.night('2026-01-02', { shoes: ['a.com/'] }, { list: 'two' })
  const weights = `select q, weight, lists from analysis.latest_weights
    join queries on queries.id = query_id order by q`
  expect(await ask(weights)).toEqual([
    ['boots', 1, 1],
    ['shoes', 9, 2],
  ])
  await scene.story.night('2026-01-03', { boots: ['a.com/'] }, { list: 'one' })
  expect(await ask(weights)).toEqual([
    ['boots', 1, 1],
    ['shoes', 2, 1],
  ])
})

test('freshness counts queries that were never answered', async () => {
  await scene.story.night('2026-01-01', { good: ['a.com/'], bad: 'failed' })
  expect(
    await ask(`select list, queries, answered, never_answered, newest = oldest,
      oldest_age > interval '1 day' from analysis.freshness`),
  ).toEqual([['main', 2, 1, 1, true, true]])
})

test('costs are shown for each readable answer and for each that changed', async () => {
  await scene.story.night('2026-01-01', {
    shoes: { results: ['a.com/'], credits: 2 },
    boots: { results: ['b.com/'], credits: 2 },
  })
  await scene.story.night('2026-01-02', {
    shoes: { results: ['c.com/'], credits: 3 },
    boots: { results: ['b.com/'], credits: 3 },
    bad: { unreadable: true, credits: 5 },
  })
  expect(
    await ask(`select run_date, calls, credits_used, answers, changed, credits_per_answer, credits_per_change,
      credits_lost from analysis.costs where tag = '*' order by run_date`),
  ).toEqual([
    ['2026-01-01', 2, 4, 2, 0, 2, null, 0],
    ['2026-01-02', 3, 11, 2, 1, 5.5, 11, 5],
  ])
})

test('a balance that falls by more than our calls used, or rises, shows the difference', async () => {
  await scene.pool.query("insert into accounts (name, kind) values ('bank', 'live')")
  const call = (remaining: number, start: number) =>
    scene.pool.query(
      `insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
        credits_reserved, credits_used, credits_remaining, outcome, class)
      select 1, gen_random_uuid(), id, 1, at, at + interval '1 second', $2, 0, 2, 2, $1, 'settled', ''
      from accounts, lateral (select '2026-01-01 12:00Z'::timestamptz + $2 * interval '1 minute' as at) begun`,
      [remaining, start],
    )
  await call(98, 1)
  await call(94, 3)
  await call(96, 2)
  const days = `select day, calls, credits_used, highest_balance, lowest_balance, credits_unexplained
    from analysis.account_days`
  expect(await ask(days)).toEqual([['2026-01-01', 3, 6, 100, 94, 0]])
  await call(85, 4)
  expect(await ask(days)).toEqual([['2026-01-01', 4, 8, 100, 85, 7]])
  await call(5083, 5)
  const sums = `select opening_balance, credits_used, credits_unexplained, credits_added, closing_balance
    from analysis.account_days`
  expect(await ask(sums)).toEqual([[100, 10, 7, 5000, 5083]])
})
