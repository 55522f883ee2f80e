// @module-tag slow
// All features that buy less at once, with real components: a schedule with an adaptive cadence, a budget and a share,
// alert rules, and a suspect night.
import { decideByName, decideCadence } from '../../src/features/cadence/choose.ts'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { tick } from '../../src/core/scheduler/tick.ts'
import {
  type AlertRule,
  listAlerts,
  replaceAlertRules,
} from '../../src/features/alerts/statements.ts'
import { verifyPromises } from '../support/promises.ts'
import { scheduleOf } from '../core/scheduler/world.ts'
import { openScene, queries } from '../support/scene.ts'

const budget = 9

const rule = (name: string, what: AlertRule['what'], more: Partial<AlertRule> = {}): AlertRule => ({
  ...{ name, what, threshold: null, direction: null, list: null, tag: null },
  ...{ domain: null, rival: null, feature: null, confirm: 1, ...more },
})

/**
 * A list whose queries are skipped according to their history, bought night by night from an API that fails on purpose.
 */
async function openNightsAndApi() {
  const { api, mill } = await openScene({ settings: { MILL_CREDIT_FLOOR: '50' } })
  const file = join(mkdtempSync(join(tmpdir(), 'querymill-less-')), 'words.csv')
  const lines = queries(12).map((q, index) => `${q},${index < 4 ? 'brand' : 'rest'}`)
  writeFileSync(file, `query,tags\n${lines.join('\n')}\n`)
  const schedule = scheduleOf({
    list: file,
    budget,
    longestDays: 7,
    shares: [{ tag: 'brand', share: 0.5 }],
  })
  const told: string[] = []
  const desk = {
    db: mill.db,
    supplier: mill.supplier,
    chooseQueries: decideByName,
    maxAgeMs: 0,
    queue: () => mill.queue(),
    report: (line: string) => told.push(line),
  }
  const planAt = (date: string, time: string) =>
    tick(
      { ...desk, now: async () => new Date(`${date}T${time}:20Z`) },
      { schedules: [schedule], refusals: [], names: [schedule.name] },
    )
  await planAt(dateOf(1), '01:00')
  const night = async (day: number) => {
    await planAt(dateOf(day), '02:00')
    const before = api.charges().length
    await mill.drain()
    return api.charges().length - before
  }
  return { api, mill, night, told }
}

const dateOf = (day: number) => `2026-01-${String(day).padStart(2, '0')}`

test('queries are skipped, budgets hold, skipped queries raise no alert, and a suspect night does not count as history', async () => {
  const { api, mill, night, told } = await openNightsAndApi()
  await replaceAlertRules(mill.db, [
    rule('lost', 'left', { domain: '*' }),
    rule('won', 'entered', { domain: '*' }),
    rule('moved', 'moved', { threshold: 1, domain: '*' }),
    rule('part', 'new_feature', { feature: 'knowledge_graph' }),
  ])
  const alerts = () => listAlerts(mill.db, { id: null, rule: null, standing: false, limit: 99 })
  const statesOf = async (day: number) => {
    const { rows } = await sql<{ q: string; tag: string; state: string }>`
      select queries.q, list_queries.tags[1] as tag, tasks.state
      from tasks
      join runs on runs.id = tasks.run_id
      join queries on queries.id = tasks.query_id
      join list_queries on list_queries.query_id = queries.id
      where runs.run_date = ${dateOf(day)}::date`.execute(mill.db)
    return rows
  }
  for (let day = 1; day <= 10; day++) expect(await night(day)).toBeLessThanOrEqual(budget)
  // Credits were short for new queries, each of which is bought: the label has received its share, and is then skipped.
  const firstNight = await statesOf(1)
  expect(firstNight.filter(({ state }) => state === 'answered')).toHaveLength(budget)
  expect(
    firstNight.filter(({ tag, state }) => tag === 'brand' && state === 'answered'),
  ).toHaveLength(4)
  const { rows: rested } = await sql<{ rested: number }>`
    select count(*) as rested from tasks where state = 'not_asked'`.execute(mill.db)
  expect(rested[0]?.rested).toBeGreaterThan(5)
  expect(await alerts()).toEqual([])

  const { rows: lists } = await sql<{ id: number }>`select id from lists`.execute(mill.db)
  const decide = async () => {
    const { origin, api: name } = mill.supplier
    const asked = { list: lists[0]?.id ?? 0, runDate: dateOf(12), longestDays: 7 }
    await decideCadence(mill.db, { ...asked, origin, api: name })
    return mill.db.selectFrom('cadences').selectAll().orderBy('query_id').execute()
  }
  const before = await decide()
  api.set({ faults: [{ kind: 'fields', what: 'empty' }] })
  expect(await night(11)).toBeLessThanOrEqual(budget)
  const { rows: suspect } = await sql<{ run_date: string }>`
    select run_date from runs where suspect`.execute(mill.db)
  expect(suspect).toEqual([{ run_date: dateOf(11) }])
  expect(await decide()).toEqual(before)
  expect(await alerts()).toEqual([])

  api.set({ faults: [{ kind: 'fields', what: 'extra' }] })
  expect(await night(12)).toBeLessThanOrEqual(budget)
  const last = await statesOf(12)
  const asked = last.filter(({ state }) => state === 'answered').map(({ q }) => q)
  expect(asked.length).toBeGreaterThan(0)
  expect(last.map(({ state }) => state)).toContain('not_asked')
  const found = await alerts()
  expect(new Set(found.map(({ alert }) => alert))).toEqual(new Set(['part']))
  expect(found).toHaveLength(asked.length)
  expect(new Set(found.map(({ q }) => q))).toEqual(new Set(asked))

  expect(api.least()).toBeGreaterThanOrEqual(50)
  expect(told.join(' ')).toContain('not asked')
  expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
})
