// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endNights } from '../../../src/features/alerts/find-alerts.ts'
import { listAlerts, replaceAlertRules } from '../../../src/features/alerts/statements.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'
import { verifyPromises } from '../../support/promises.ts'
import { run } from '../../support/run.ts'
import { type Answers, placed, Story, ten } from '../analysis/story.ts'

let database: FreshDatabase
let story: Story
let told: string[]

beforeEach(async () => {
  database = await freshDatabase()
  story = new Story(database.pool)
  told = []
  await database.pool.query("insert into own_domains (domain, label) values ('ours.com', 'Ours')")
  const lost = { name: 'lost', what: 'left', threshold: null, direction: null, list: null } as const
  await replaceAlertRules(database.db, [
    { ...lost, tag: null, domain: null, rival: null, feature: null, confirm: 1 },
  ])
})
afterEach(() => database.close())

const words = ['grid', 'flex', 'webp', 'avif', 'cors', 'fonts']

const asEver = (): Answers =>
  Object.fromEntries(words.map((word) => [word, placed(ten(word), 4, 'ours.com/')]))
const casino = (): Answers => Object.fromEntries(words.map((word) => [word, ten('casino')]))

async function night(date: string, answers: Answers): Promise<void> {
  await story.night(date, answers)
  await database.pool.query(
    'update runs set finished_at = clock_timestamp() where id = (select max(id) from runs)',
  )
  await endNights({ db: database.db, databaseUrl: database.url }, (line) => told.push(line))
}

async function usualNights(): Promise<void> {
  for (const date of ['2026-01-01', '2026-01-02', '2026-01-03']) await night(date, asEver())
}

const trust = (...typed: string[]) =>
  run('trust', [...typed, '--json'], { DATABASE_URL: database.url })

async function shownOn(date: string): Promise<number> {
  const { rows } = await database.pool.query(
    'select count(*)::integer as many from analysis.observations where run_date = $1',
    [date],
  )
  return rows[0].many
}

async function states(): Promise<readonly string[]> {
  const alerts = await listAlerts(database.db, { id: null, rule: null, standing: false, limit: 99 })
  return alerts.map(({ state }) => state)
}

/** Violations of checks about judgements and alerts; these nights were never paid for. */
async function brokenPromises(): Promise<readonly string[]> {
  const checks = await verifyPromises(database.db)
  return checks.filter(({ ok, name }) => !ok && /suspect|alert/.test(name)).map(({ name }) => name)
}

describe('a night in which every query got the same ten pages', () => {
  test('raises no alert, shows no rank, and its answers are quarantined with a reason', async () => {
    await usualNights()
    await night('2026-01-04', casino())
    expect(told.join()).toContain('run 4 is suspect')
    expect(await states()).toEqual([])
    expect(await shownOn('2026-01-04')).toBe(0)
    const { rows } = await database.pool.query(
      'select run_id, count(*)::integer as answers from quarantine group by run_id',
    )
    expect(rows).toEqual([{ run_id: 4, answers: 6 }])
    await night('2026-01-05', asEver())
    expect(await states()).toEqual([])
    expect(await shownOn('2026-01-05')).toBe(6)
  })

  test('counts once a person accepts it, and no longer once that is undone', async () => {
    await usualNights()
    await night('2026-01-04', casino())
    await trust('accept', '--run', '4', '--because', 'checked by hand', '--by', 'Ada')
    expect(await shownOn('2026-01-04')).toBe(6)
    expect(await states()).toEqual(words.map(() => 'standing'))
    expect(await brokenPromises()).toEqual([])
    await trust('undo', '1', '--by', 'Ada')
    expect(await shownOn('2026-01-04')).toBe(0)
    expect(await states()).toEqual(words.map(() => 'withdrawn'))
    expect(await brokenPromises()).toEqual([])
  })
})

describe('a person', () => {
  test('withdraws the alerts of a date by distrusting it', async () => {
    await usualNights()
    await night('2026-01-04', { ...asEver(), grid: ten('grid') })
    expect(await states()).toEqual(['standing'])
    await trust('distrust', '--date', '2026-01-04', '--because', 'a test of the API')
    expect(await states()).toEqual(['withdrawn'])
    expect(await shownOn('2026-01-04')).toBe(0)
  })

  test('distrusts a single answer, and the rest of its run stays', async () => {
    await usualNights()
    await night('2026-01-04', { ...asEver(), grid: ten('grid') })
    const [alert] = await listAlerts(database.db, {
      ...{ id: null, rule: null, standing: true, limit: 1 },
    })
    await trust('distrust', '--answer', String(alert?.search_id), '--because', 'wrong query')
    expect(await states()).toEqual(['withdrawn'])
    expect(await shownOn('2026-01-04')).toBe(5)
    const coverage = await database.pool.query(
      "select answered, suspect from analysis.coverage where run_date = '2026-01-04'",
    )
    expect(coverage.rows).toEqual([{ answered: 5, suspect: 1 }])
  })

  test('must give a reason, and name something that exists', async () => {
    await usualNights()
    expect(await trust('distrust', '--run', '2')).toMatchObject({ code: 2 })
    expect(await trust('distrust', '--run', '99', '--because', 'x')).toMatchObject({ code: 2 })
    expect(await trust('undo', '7')).toMatchObject({ code: 2 })
  })
})
