// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { makeHistory } from '../../bench/history.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { tellByChance } from './chance.ts'
import { type Answer, readBase, stepsOf } from './oracle.ts'
import { Story } from './story.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
})
afterEach(() => database.close())

interface Shown {
  readonly search: number
  readonly position: number
  readonly key: string
  readonly domain: string
}

const named = (key: string) => key.replace(/^www\./, '')

/** Results of each answer in order, from the tables alone. */
async function readShown(): Promise<ReadonlyMap<number, readonly Shown[]>> {
  const { rows } = await database.pool.query<Omit<Shown, 'domain'>>(
    `select search_id as search, position, url_key as key
    from organic_results join pages on pages.id = page_id order by search_id, position, ordinal`,
  )
  const found = new Map<number, Shown[]>()
  for (const row of rows) {
    const domain = named(row.key).replace(/\/.*$/, '')
    found.set(row.search, [...(found.get(row.search) ?? []), { ...row, domain }])
  }
  return found
}

async function ask(text: string): Promise<string[]> {
  const { rows } = await database.pool.query<unknown[]>({ text, rowMode: 'array' })
  return rows.map((row) => row.join(' ')).toSorted()
}

type Results = ReadonlyMap<number, readonly Shown[]>

/** Best page of the target page's domain, if it is another page. */
function wrongOf(answers: readonly Answer[], shown: Results, targets: ReadonlyMap<string, string>) {
  return answers.flatMap(({ query, day, search }) => {
    const target = targets.get(query)
    if (target === undefined) return []
    const own = shown.get(search) ?? []
    const best = own.find(({ domain }) => domain === named(target).replace(/\/.*$/, ''))
    if (best === undefined || named(best.key) === named(target)) return []
    const right = own.find(({ key }) => named(key) === named(target))?.position
    return [[query, day, best.domain, best.position, best.key, right ?? ''].join(' ')]
  })
}

/** From a position in the top 10 to two consecutive answers without it. */
function lostFrom(series: readonly Answer[], from: number, shown: Results): string[] {
  const placeOf = ({ search }: Answer, domain: string) =>
    shown.get(search)?.find((one) => one.domain === domain)?.position
  const base = series[from]
  if (base === undefined) return []
  const held = new Set((shown.get(base.search) ?? []).map(({ domain }) => domain))
  return [...held].flatMap((domain) => {
    const place = placeOf(base, domain) ?? Infinity
    if (place > 10) return []
    let before = false
    for (const later of series.slice(from + 1)) {
      const now = placeOf(later, domain)
      if (now !== undefined && now <= 10) return []
      const lost = now === undefined ? later.depth >= place : now > place + 5
      if (lost && before) {
        const ends = [later.day, now ?? '', place, base.day, later.search, base.search]
        return [[base.query, domain, ...ends].join(' ')]
      }
      before = lost
    }
    return []
  })
}

/** Domains of which an answer shows more than one page, with or without www. */
function crowdedOf(answers: readonly Answer[], shown: Results): string[] {
  return answers.flatMap(({ query, day, search, depth }) => {
    const all = shown.get(search) ?? []
    return [...new Set(all.map(({ domain }) => domain))].flatMap((domain) => {
      const own = all.filter((one) => one.domain === domain)
      const pages = new Set(own.map(({ key }) => named(key))).size
      const lists = [own.map(({ position }) => position), own.map(({ key }) => key)]
      return pages < 2 ? [] : [[query, day, domain, pages, ...lists.map(String), depth].join(' ')]
    })
  })
}

interface Switch {
  readonly day: string
  readonly from: string
  readonly to: string
}

/** Domains whose best page for a query differed from that in the previous answer, twice or more. */
function switchesOf(steps: ReturnType<typeof stepsOf>, shown: Results): string[] {
  const found = new Map<string, Switch[]>()
  for (const { now, before } of steps) {
    const earlier = before === null ? [] : (shown.get(before.search) ?? [])
    const here = shown.get(now.search) ?? []
    for (const domain of new Set(here.map((one) => one.domain))) {
      const to = here.find((one) => one.domain === domain)?.key ?? ''
      const from = earlier.find((one) => one.domain === domain)?.key
      if (from === undefined || named(from) === named(to)) continue
      const name = `${now.query} ${domain}`
      found.set(name, [...(found.get(name) ?? []), { day: now.day, from, to }])
    }
  }
  return [...found].flatMap(([name, all]) => {
    const sorted = all.toSorted((a, b) => (a.day < b.day ? -1 : 1))
    const pages = new Set(sorted.flatMap(({ from, to }) => [named(from), named(to)])).size
    const days = [sorted[0]?.day, sorted.at(-1)?.day]
    const keys = sorted.map(({ to }) => to)
    return all.length < 2 ? [] : [[name, all.length, pages, String(keys), ...days].join(' ')]
  })
}

describe('losses, wrong pages and pages side by side over random histories', () => {
  test.each(histories)('follow from the base tables, history %i', async (seed) => {
    const story = new Story(database.pool)
    await tellByChance(story, { seed, days: 26, restless: 4 })
    const wanted = { shoes: 'd1.com/0', hats: 'www.d2.com/1', 'boots @m': 'd3.com/2' }
    const targets = new Map<string, string>()
    for (const [q, target] of Object.entries(wanted)) {
      targets.set(story.idOf(q), target)
      await database.pool.query('update list_queries set target_url = $2 where query_id = $1', [
        ...[story.idOf(q), `https://${target}`],
      ])
    }
    // A value in a list also applies to earlier nights for which the list had none.
    await database.pool.query('delete from list_query_history')
    const base = await readBase(database.pool)
    const shown = await readShown()
    const columns = 'query_id, run_date, domain, position, url_key, target_position'
    const wrong = wrongOf(base.answers, shown, targets)
    expect(wrong.length).toBeGreaterThan(0)
    expect(await ask(`select ${columns} from analysis.wrong_pages`)).toEqual(wrong.toSorted())
    const crowded = crowdedOf(base.answers, shown)
    expect(crowded.length).toBeGreaterThan(0)
    const lists = `array_to_string(positions, ','), array_to_string(url_keys, ',')`
    expect(
      await ask(
        `select query_id, run_date, domain, pages, ${lists}, depth from analysis.cannibalised_serps`,
      ),
    ).toEqual(crowded.toSorted())
    const switched = switchesOf(stepsOf(base), shown)
    expect(switched.length).toBeGreaterThan(0)
    const spread = `switches, pages, array_to_string(url_keys, ','), first_run_date, run_date`
    expect(await ask(`select query_id, domain, ${spread} from analysis.page_switches`)).toEqual(
      switched.toSorted(),
    )
    const steps = stepsOf(base).map(({ now }) => now)
    const lost = [...new Set(steps.map(({ series }) => series))].flatMap((name) => {
      const series = steps.filter((step) => step.series === name)
      return series.flatMap((_, from) => lostFrom(series, from, shown))
    })
    expect(lost.length).toBeGreaterThan(0)
    const said = 'query_id, domain, run_date, position, base_position, base_run_date'
    expect(
      await ask(`select ${said}, search_id, base_search_id from analysis.confirmed_losses`),
    ).toEqual(lost.toSorted())
  })
})

test('losses of the second night are found quickly with the statistics of the first night', async () => {
  const { pool, db } = database
  await makeHistory(pool, { queries: 1000, nights: 2 })
  await pool.query('alter table finished_steps set (autovacuum_enabled = off)')
  await finishDays(db, 1)
  await pool.query('analyze finished_steps')
  await finishDays(db)
  const timed = async () => {
    const start = performance.now()
    const { rows } = await pool.query<{ losses: number }>(
      'select count(*) as losses from analysis.losses_on((select max(run_date) from runs))',
    )
    expect(rows[0]?.losses).toBeGreaterThan(100)
    return performance.now() - start
  }
  const first = await timed()
  await pool.query('analyze finished_steps')
  expect(first).toBeLessThan(10 * (await timed()))
})
