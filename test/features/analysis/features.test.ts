// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { contentId } from '../../../src/base/query.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { type Base, dice, readBase } from './oracle.ts'
import { type Answers, Story } from './story.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
  await database.pool.query(
    "insert into own_domains (domain, label, until) values ('d1.com', 'Us', '2026-02-01')",
  )
})
afterEach(() => database.close())

interface Thing {
  readonly kind: string
  readonly domain: string | null
}

const days = ['2026-01-29', '2026-01-30', '2026-02-01', '2026-02-02']

/**
 * Nights with failed, missing, unreadable, sandbox and reused answers; returns the items in the blocks of each answer.
 */
async function tell(seed: number): Promise<ReadonlyMap<number, readonly Thing[]>> {
  const roll = dice(seed)
  const story = new Story(database.pool).says('shoes', { tags: ['red'] })
  const things = new Map<number, readonly Thing[]>()
  for (const day of days) {
    const answers: Record<string, Answers[string]> = {}
    for (const q of ['shoes', 'boots', 'hats']) {
      const kind = roll(8)
      if (kind === 0) answers[q] = 'failed'
      else if (kind === 1) answers[q] = 'reused'
      else if (kind === 2) answers[q] = { unreadable: true }
      else if (kind > 3) answers[q] = [`d${roll(3)}.com/`]
    }
    const made = await story.night(day, answers, { origin: roll(6) === 0 ? 'sandbox' : 'live' })
    for (const [q, search] of made) {
      if (typeof answers[q] === 'object' && 'unreadable' in (answers[q] as object)) continue
      const own = Array.from({ length: roll(4) }, () => ({
        kind: ['ads', 'questions', 'video'][roll(3)] ?? '',
        domain: roll(3) === 0 ? null : `d${roll(3)}.com`,
      }))
      things.set(search, own)
      await keep(search, own)
    }
  }
  return things
}

async function keep(search: number, things: readonly Thing[]): Promise<void> {
  for (const [index, { kind, domain }] of things.entries()) {
    const id = domain === null ? null : contentId('domain', domain)
    if (id !== null) {
      await database.pool.query(
        'insert into domains (id, host) values ($1, $2) on conflict do nothing',
        [id, domain],
      )
    }
    await database.pool.query(
      'insert into search_features (search_id, ordinal, kind, domain_id) values ($1, $2, $3, $4)',
      [search, index + 1, kind, id],
    )
    await database.pool.query('update searches set extra = $2 where id = $1', [
      search,
      JSON.stringify(Object.fromEntries(things.map((thing) => [thing.kind, []]))),
    ])
  }
}

async function ask(text: string): Promise<string[]> {
  const { rows } = await database.pool.query<unknown[]>({ text, rowMode: 'array' })
  return rows.map((row) => row.join(' ')).toSorted()
}

/** Day, label, kind, queries, queries that show it, queries that include our domains, items. */
function daysOf(
  { answers }: Base,
  things: ReadonlyMap<number, readonly Thing[]>,
  red: string,
): string[] {
  const found: string[] = []
  for (const day of days) {
    for (const tag of ['*', 'red']) {
      const own = answers.filter((one) => one.day === day && (tag === '*' || one.query === red))
      for (const kind of ['ads', 'questions', 'video']) {
        const blocks = own
          .map(({ search }) => (things.get(search) ?? []).filter((thing) => thing.kind === kind))
          .filter((block) => block.length > 0)
        if (blocks.length === 0) continue
        const ours = blocks.filter(
          (block) => day <= '2026-02-01' && block.some(({ domain }) => domain === 'd1.com'),
        )
        found.push(
          [day, tag, kind, own.length, blocks.length, ours.length, blocks.flat().length].join(' '),
        )
      }
    }
  }
  return found.toSorted()
}

describe('blocks of answers over random histories', () => {
  test.each(histories)(
    'items, shares by day and new fields follow from the base tables, history %i',
    async (seed) => {
      const things = await tell(seed)
      const base = await readBase(database.pool)
      const red = new Story(database.pool).idOf('shoes')
      const said = base.answers.flatMap(({ query, day, search }) => {
        const places = new Map<string, number>()
        return (things.get(search) ?? []).map(({ kind, domain }) => {
          places.set(kind, (places.get(kind) ?? 0) + 1)
          const ours = domain === 'd1.com' && day <= '2026-02-01'
          return [query, day, kind, places.get(kind), domain, ours].join(' ')
        })
      })
      expect(
        await ask('select query_id, run_date, kind, place, domain, ours from analysis.features'),
      ).toEqual(said.toSorted())
      expect(
        await ask(
          "select run_date, tag, kind, queries, shown, ours, things from analysis.feature_days where tag in ('*', 'red')",
        ),
      ).toEqual(daysOf(base, things, red))
      const { rows } = await database.pool.query<{ id: number }>(
        "select id from searches where origin = 'live' and parse_error is null",
      )
      const fields = rows.flatMap(({ id }) => [
        ...new Set((things.get(id) ?? []).map(({ kind }) => kind)),
      ])
      const counts = [...new Set(fields)].map((field) =>
        ['answer', field, fields.filter((one) => one === field).length].join(' '),
      )
      expect(await ask('select place, field, answers from analysis.unannounced_fields')).toEqual(
        counts.toSorted(),
      )
    },
  )

  test('a field of a result is distinguished from one of its answer, with its first and last day', async () => {
    const story = new Story(database.pool)
    for (const day of ['2026-01-01', '2026-01-03']) await story.night(day, { shoes: ['a.com/'] })
    await database.pool.query(`update organic_results set extra = '{"stars": 5}'`)
    expect(
      await ask(
        'select place, field, first_seen::date, last_seen::date, answers from analysis.unannounced_fields',
      ),
    ).toEqual(['result stars 2026-01-01 2026-01-03 2'])
  })
})
