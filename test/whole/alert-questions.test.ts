// @module-tag slow
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endNights } from '../../src/features/alerts/find-alerts.ts'
import { answerQuestion } from '../../src/features/analysis/sql-command.ts'
import { ensureReader } from '../../src/base/database/reader-role.ts'
import { findQuestion } from '../../src/features/analysis/library.ts'
import {
  type AlertRule,
  listAlerts,
  replaceAlertRules,
} from '../../src/features/alerts/statements.ts'
import { type Answers, dropReader, placed, Story, ten } from '../features/analysis/story.ts'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'

// Labels that look like the keywords of a condition.
const labels = ['brand', 'not for sale', 'red shoes', 'old (2019)', '24" screens', '  spaced']

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
  await database.pool.query("insert into own_domains (domain, label) values ('ours.com', 'Ours')")
  const story = new Story(database.pool)
  story.says('cors', { target: 'https://ours.com/right', tags: labels })
  story.says("it's here", { device: 'mobile' })
  const kinds: readonly Partial<AlertRule>[] = [
    ...[{ what: 'left' as const }, { what: 'entered' as const }, { what: 'wrong_page' as const }],
    ...[
      { what: 'moved' as const, threshold: 3 },
      { what: 'crossed' as const, threshold: 3 },
    ],
    ...[{ what: 'rival_passed' as const, rival: 'rival.com' }, { what: 'new_feature' as const }],
    { what: 'share_fell', threshold: 20 },
    ...labels.map((tag) => ({ what: 'share_fell' as const, threshold: 20, tag })),
  ]
  await replaceAlertRules(
    database.db,
    kinds.map((kind, index) => ruleOf(index, kind)),
  )
  const nights: readonly Answers[] = [
    {
      "it's here": placed(ten('h'), 2, 'ours.com/h'),
      grid: placed(ten('g'), 4, 'ours.com/grid'),
      webp: placed(placed(ten('w'), 3, 'ours.com/webp'), 5, 'rival.com/'),
      avif: ten('a'),
      cors: placed(ten('c'), 2, 'ours.com/right'),
    },
    {
      "it's here": placed(ten('h'), 8, 'ours.com/h'),
      grid: placed(ten('g'), 4, 'taker.com/'),
      webp: placed(placed(ten('w'), 3, 'ours.com/webp'), 2, 'rival.com/'),
      avif: placed(ten('a'), 9, 'ours.com/avif'),
      cors: placed(ten('c'), 9, 'ours.com/wrong'),
    },
  ]
  for (const [index, answers] of nights.entries()) {
    const searches = await story.night(`2026-03-0${index + 1}`, answers)
    await database.pool.query(`update searches set extra = $2 where id = any ($1)`, [
      [...searches.values()],
      index === 0 ? {} : { featured_snippet: { url: 'x' } },
    ])
    await database.pool.query('update runs set finished_at = clock_timestamp()')
    await endNights({ db: database.db, databaseUrl: database.url }, () => undefined)
  }
})
afterAll(async () => {
  await dropReader(database.pool)
  await database.close()
})

const ruleOf = (index: number, kind: Partial<AlertRule>): AlertRule => ({
  ...{ name: `rule ${index}`, what: 'left', threshold: null, direction: null, list: null },
  ...{ tag: null, domain: null, rival: null, feature: null, confirm: 1, ...kind },
})

const everything = { id: null, rule: null, standing: false, limit: 1000 }

/** The words that a shell makes of a line, after "npm run sql --". */
function words(line: string): string[] {
  const { stdout } = spawnSync('bash', ['-c', `npm() { printf '%s\\0' "$@"; }; ${line}`])
  const [runs, command, dashes, ...rest] = stdout.toString().split('\0').slice(0, -1)
  expect([runs, command, dashes]).toEqual(['run', 'sql', '--'])
  return rest
}

async function rowsOf([name = '', ...flags]: readonly string[]): Promise<number> {
  const reading = { ...findQuestion(name, flags), timeoutMs: 20_000, warn: () => undefined }
  const [say, empty] = [() => undefined, () => undefined]
  const answering = { format: 'json' as const, most: 100, say, empty }
  let text = ''
  for await (const piece of answerQuestion(database.pool, reading, answering)) text += piece
  return (JSON.parse(text) as { rows: unknown[] }).rows.length
}

describe('the question of an alert', () => {
  test('returns rows when it is run as written, for every kind of alert and whatever its label', async () => {
    const alerts = await listAlerts(database.db, everything)
    expect(new Set(alerts.map(({ what }) => what)).size).toBe(8)
    expect(alerts.flatMap(({ tag }) => tag ?? []).toSorted()).toEqual(['*', ...labels].toSorted())
    const answers = []
    for (const question of new Set(alerts.map((alert) => alert.question))) {
      answers.push({ question, rows: await rowsOf(words(question)) })
    }
    expect(answers.filter(({ rows }) => rows === 0)).toEqual([])
    expect(answers.length).toBeGreaterThan(labels.length)
  })
})
