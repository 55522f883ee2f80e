import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { readChoice } from '../../../src/features/analysis/export-command.ts'
import { findQuestion, readQuestions } from '../../../src/features/analysis/library.ts'
import { asksOf, withAnswers } from '../../support/asks.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { has } from '../../support/parts.ts'
import { placed, Story, ten } from './story.ts'

const tour = readFileSync(join(root, 'docs', 'analysis.md'), 'utf8')
const blocks = [...tour.matchAll(/```sql\n(.*?)```/gs)].map((match) => match[1] ?? '')

describe('the guided tour', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
    const story = new Story(database.pool)
    await database.pool.query(
      "insert into own_domains (domain, label) values ('caniuse.com', 'Can I use')",
    )
    await story.night('2026-01-01', { shoes: placed(ten('r'), 4, 'caniuse.com/shoes') })
    await story.night('2026-01-02', { shoes: placed(ten('r'), 4, 'taker.com/shoes') })
  })
  afterAll(() => database.close())

  test.each(blocks.map((text, index) => ({ number: index + 1, text })))(
    'statement $number gives rows',
    async ({ text }) => {
      expect((await database.pool.query(text)).rowCount).toBeGreaterThan(0)
    },
  )

  test.each(asksOf(tour))(
    'the question $typed $flags can be run as the page has it',
    async (asked) => {
      const reading = { timeoutMs: 20_000, warn: () => undefined }
      let heads = 0
      for await (const { columns } of readBatches(database.pool, {
        ...findQuestion(asked.typed, asked.flags),
        ...reading,
      })) {
        heads = columns.length
      }
      expect(heads).toBeGreaterThan(0)
    },
  )

  test('the documented exports work as written', async () => {
    const typed = [...tour.matchAll(/^\$ npm run export -- (.+)$/gm)].map(([, line]) => line ?? '')
    expect(typed.length).toBeGreaterThan(3)
    for (const line of typed) {
      const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
        ([, one, other]) => one ?? other ?? '',
      )
      const flag = (name: string) => words[words.indexOf(name) + 1]
      const own = new Set(
        ['--to', '--format', '--question', '--where'].filter((name) => words.includes(name)),
      )
      const args = words.filter(
        (word, index) => !own.has(word) && !own.has(words[index - 1] ?? '') && word !== '--bom',
      )
      const question = own.has('--question') ? flag('--question') : undefined
      const where = own.has('--where') ? flag('--where') : undefined
      const { name, ...asked } = await readChoice({ question, where, args })(database.db)
      expect(name).not.toBe('')
      for await (const { columns } of readBatches(database.pool, {
        ...asked,
        timeoutMs: 20_000,
        warn: () => undefined,
      })) {
        expect(columns.length).toBeGreaterThan(0)
      }
    }
  })

  test.skipIf(!has('postgresql'))('has psql commands that work as written', async () => {
    const lines = [...tour.matchAll(/^\$ (psql -.+)$/gm)].map(([, line]) => line ?? '')
    expect(lines.length).toBeGreaterThan(2)
    const asked = /`(select quote_literal[^`]+\\gset)`/.exec(tour)?.[1]
    expect(asked).toBeDefined()
    const name = new URL(database.url).pathname.slice(1)
    for (const line of [...lines, `printf '%s' '${asked}' | psql "postgres://…"`]) {
      const typed = line
        .replace('"postgres://…"', `-v ON_ERROR_STOP=1 "${database.url}"`)
        .replace('alter database querymill', `alter database \\"${name}\\"`)
      // Changes made by a command are dropped with the database.
      expect(() =>
        execFileSync('/bin/sh', ['-c', typed], { cwd: root, stdio: 'pipe' }),
      ).not.toThrow()
    }
    await database.pool.query(`alter database ${JSON.stringify(name)} reset querymill.ctr_curve`)
  })

  test('contains every question that it names, and twenty everyday ones', () => {
    const typed = [...tour.matchAll(/^\$ npm run sql -- (.+)$/gm)].length
    expect(asksOf(tour)).toHaveLength(typed + blocks.length)
    expect([...tour.matchAll(/^\d+\. .+\?$/gm)]).toHaveLength(20)
  })

  test('replaces its old answers, and nothing else', () => {
    const answers = asksOf(tour).map((_, index) => `answer ${index}`)
    const written = withAnswers(tour, answers)
    expect(withAnswers(written, answers)).toBe(written)
    expect(asksOf(written)).toEqual(asksOf(tour))
    expect(written).toContain('--crossed 10 --change left --days 1\nanswer')
  })

  test('answers in plain SQL what the library answers: which page fell, and what took its position', async () => {
    expect((await database.pool.query({ text: blocks[0] ?? '', rowMode: 'array' })).rows).toEqual([
      ['shoes', 'caniuse.com/shoes', 4, 'taker.com', 'taker.com/shoes'],
    ])
  })

  test('names only questions of the library and settings of the views', () => {
    const names = readQuestions().map(({ name }) => name)
    const used = [...tour.matchAll(/npm run sql -- ([a-z_]+)/g)].map((match) => match[1])
    expect(used.length).toBeGreaterThan(10)
    for (const name of used) expect(names).toContain(name)
    const settings = [...tour.matchAll(/querymill\.([a-z_]+)/g)].map((match) => match[1])
    expect(new Set(settings)).toEqual(
      new Set(['origins', 'ctr_curve', 'not_ranked_as', 'slice', 'since', 'until']),
    )
  })

  test('includes dbt sources that name existing views', async () => {
    const example = readFileSync(join(root, 'docs', 'deploy', 'dbt', 'sources.yml'), 'utf8')
    const named = [...example.matchAll(/^ {6}- name: (\w+)$/gm)].map((match) => match[1])
    const { rows } = await database.pool.query<{ name: string }>(
      "select viewname as name from pg_views where schemaname = 'analysis'",
    )
    expect(named.length).toBeGreaterThan(5)
    for (const name of named) expect(rows.map((row) => row.name)).toContain(name)
  })
})
