import { expect, test } from 'vitest'
import { storyScene } from './scene.ts'

const scene = storyScene()
const { ask } = scene

test('of two answers of one day, the newer one is the observation', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'] }, { list: 'one' })
  await scene.story.night('2026-01-01', { shoes: ['b.com/'] }, { list: 'two', kind: 'manual' })
  expect(await ask('select run_date, q, domain from analysis.results')).toEqual([
    ['2026-01-01', 'shoes', 'b.com'],
  ])
})

test('an unreadable answer is not an observation, and the answer bought again for its task is one', async () => {
  const night = await scene.story.night('2026-01-01', { shoes: { unreadable: true } })
  expect(await ask('select * from analysis.observations')).toEqual([])
  await scene.story.late(night.get('shoes') ?? 0, { results: ['a.com/'] })
  expect(await ask('select run_date, domain from analysis.results')).toEqual([
    ['2026-01-01', 'a.com'],
  ])
})

test('only live answers are shown until the setting names other origins', async () => {
  await scene.story.night('2026-01-01', { shoes: ['live.com/'] })
  await scene.story.night('2026-01-02', { shoes: ['sandbox.com/'] }, { origin: 'sandbox' })
  await scene.story.night('2026-01-03', { shoes: ['test.com/'] }, { origin: 'test' })
  const seen = async (origins: string) => {
    const client = await scene.pool.connect()
    await client.query("select set_config('querymill.origins', $1, false)", [origins])
    const { rows } = await client.query('select domain from analysis.results order by run_date')
    await client.query('reset querymill.origins')
    client.release()
    return rows.map((row: { domain: string }) => row.domain)
  }
  expect(await seen('')).toEqual(['live.com'])
  expect(await seen('sandbox')).toEqual(['sandbox.com'])
  expect(await seen('live, test')).toEqual(['live.com', 'test.com'])
})

test('a reused answer counts for its day and says so, but is not new evidence', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/'] })
  await scene.story.night('2026-01-02', { shoes: 'reused' })
  await scene.story.night('2026-01-03', { shoes: ['b.com/', 'a.com/'] })
  expect(await ask('select run_date, evidence from analysis.observations order by 1')).toEqual([
    ['2026-01-01', 'bought'],
    ['2026-01-02', 'reused'],
    ['2026-01-03', 'bought'],
  ])
  expect(
    await ask('select run_date, step, steps, previous_run_date from analysis.steps order by 1'),
  ).toEqual([
    ['2026-01-01', 1, 2, null],
    ['2026-01-03', 2, 2, '2026-01-01'],
  ])
})

test('a query that was not asked has its last answer for the day and says so, and is not new evidence', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/'], boots: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: 'not_asked', boots: 'reused' })
  await scene.story.night('2026-01-03', { shoes: ['b.com/', 'a.com/'], boots: 'not_asked' })
  const seen = (q: string) =>
    ask(`select run_date, evidence, depth from analysis.observations where q = '${q}' order by 1`)
  expect(await seen('shoes')).toEqual([
    ['2026-01-01', 'bought', 2],
    ['2026-01-02', 'not asked', 2],
    ['2026-01-03', 'bought', 2],
  ])
  expect(await seen('boots')).toHaveLength(3)
  expect(
    await ask('select q, run_date, previous_run_date from analysis.steps order by 1, 2'),
  ).toEqual([
    ['boots', '2026-01-01', null],
    ['shoes', '2026-01-01', null],
    ['shoes', '2026-01-03', '2026-01-01'],
  ])
  const first = `select run_date, position from analysis.rank_history
    where q = 'shoes' and domain = 'a.com' order by 1`
  expect(await ask(first)).toEqual([
    ['2026-01-01', 1],
    ['2026-01-02', 1],
    ['2026-01-03', 2],
  ])
  expect(await ask("select distinct run_date from analysis.known_on('2026-01-02')")).toEqual([
    ['2026-01-02'],
  ])
})

test('an answer whose first day is hidden is no new evidence on a later day either', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: ['b.com/'] })
  await scene.story.night('2026-01-03', { shoes: 'not_asked' })
  await scene.pool.query("update runs set suspect = true where run_date = '2026-01-02'")
  expect(await ask('select run_date from analysis.steps')).toEqual([['2026-01-01']])
  expect(await ask("select run_date from analysis.steps_on('2026-01-03')")).toEqual([])
})

test('a day that reused an answer keeps it, whatever else is bought for the original task', async () => {
  const night = await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: 'reused' })
  await scene.story.late(night.get('shoes') ?? 0, { results: ['b.com/', 'c.com/'] })
  expect(await ask('select run_date, domain from analysis.ranks order by 1, 2')).toEqual([
    ['2026-01-01', 'b.com'],
    ['2026-01-01', 'c.com'],
    ['2026-01-02', 'a.com'],
  ])
})

test('the previous answer is the newest earlier readable one, however old, from the same API', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: { unreadable: true } })
  await scene.story.night('2026-01-03', { shoes: 'failed' })
  await scene.story.night('2026-01-04', { shoes: ['b.com/'] }, { api: 'other.example.com' })
  await scene.story.night('2026-01-05', { shoes: ['a.com/'] })
  expect(await ask('select run_date, previous_run_date from analysis.steps order by 1')).toEqual([
    ['2026-01-01', null],
    ['2026-01-04', null],
    ['2026-01-05', '2026-01-01'],
  ])
})

test('a domain is the host named by the result, or else that of its address, in one spelling', async () => {
  await scene.story.night('2026-01-01', {
    named: { results: ['x.com/1'], domain: 'WWW.Named.com' },
  })
  await scene.story.night('2026-01-02', {
    silent: { results: ['www.address.com/1'], domain: null },
  })
  expect(await ask('select domain from analysis.ranks order by run_date')).toEqual([
    ['named.com'],
    ['address.com'],
  ])
})

test('the newest answer to a query is found whatever its day', async () => {
  await scene.story.night('2026-01-02', { shoes: ['a.com/'], boots: ['b.com/'] })
  await scene.story.night('2026-01-01', { shoes: ['c.com/', 'd.com/'] })
  await scene.story.night('2026-01-03', { shoes: { unreadable: true } })
  expect(await ask('select q, depth from analysis.latest order by q')).toEqual([
    ['boots', 1],
    ['shoes', 2],
  ])
})
