// @module-tag slow
// The same generated history twice: planned night by night by the scheduler over real tables, and replayed from the
// answers of daily buying.
import { writeFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decideCadence } from '../../../src/features/cadence/choose.ts'
import { dateOf, usualShare } from '../../../src/features/cadence/night.ts'
import { type QueryHistory, replayNights } from '../../../src/features/cadence/replay.ts'
import { scheduleOf } from '../../core/scheduler/world.ts'
import { firstDay, makeHistories } from '../../support/histories.ts'
import { type NightTable, openNights } from '../../support/nights.ts'
import { answerRun } from '../../support/answered-run.ts'

const supplier = { origin: 'sandbox', api: 'bundled' } as const
const longest = 14

let table: NightTable
beforeEach(async () => {
  table = await openNights()
})
afterEach(() => table.close())

/** The queries of some histories and their answers on a day. */
function answersOn(histories: readonly QueryHistory[], day: number) {
  return new Map(
    histories.flatMap(({ id, firstTens }) => {
      const firstTen = firstTens.find((one) => one.day === day)
      return firstTen === undefined ? [] : [[id, firstTen] as const]
    }),
  )
}

/** Runs nights as the scheduler plans them; returns the queries bought on each. */
async function live(histories: readonly QueryHistory[], nights: number) {
  const schedule = scheduleOf({
    name: 'words',
    list: table.file,
    longestDays: longest,
  })
  writeFileSync(table.file, ['query', ...histories.map(({ id }) => id), ''].join('\n'))
  await table.tickAt(`${dateOf(firstDay - 1)}T12:00:00Z`, schedule)
  const asked: string[][] = []
  for (let day = firstDay; day < firstDay + nights; day++) {
    const at = `${dateOf(day)}T02:00:20Z`
    await table.tickAt(at, schedule)
    const run = (await table.runs()).at(-1)?.id ?? 0
    const { rows } = await sql<{ q: string }>`
      select q
      from tasks
      join queries on queries.id = query_id
      where run_id = ${run}
        and state = 'open'`.execute(table.db)
    asked.push(rows.map(({ q }) => q).toSorted())
    await answerRun(table.db, { run, at, supplier, firstTens: answersOn(histories, day) })
  }
  return asked
}

async function listAndIds() {
  const { rows } = await sql<{ list: number; q: string; id: string }>`
    select lists.id as list, queries.q, queries.id
    from list_queries
    join lists on lists.id = list_queries.list_id
    join queries on queries.id = list_queries.query_id`.execute(table.db)
  return { list: rows[0]?.list ?? 0, ids: new Map(rows.map(({ q, id }) => [q, id])) }
}

/** The result of a replay of daily buying for the same nights, with the queries in the tables. */
async function replay(histories: readonly QueryHistory[]) {
  const { list, ids } = await listAndIds()
  const named = new Map([...ids].map(([q, id]) => [id, q]))
  const told = histories
    .map(({ id, firstTens }): QueryHistory => ({ id: ids.get(id) ?? '', firstTens }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const nights = replayNights(told, { list: String(list), longest, share: usualShare })
  const replayed = nights.map(({ asked }) => asked.map((id) => named.get(id) ?? '').toSorted())
  return { nights, replayed }
}

describe('a backtest', () => {
  test('selects exactly the queries that the scheduler buys', async () => {
    const histories = makeHistories({ seed: 'nights', queries: 30, nights: 40 })
    const lived = await live(histories, 40)
    const { nights, replayed } = await replay(histories)
    expect(lived).toEqual(replayed)
    const calls = lived.reduce((sum, night) => sum + night.length, 0)
    expect(calls).toBeLessThan(0.7 * 30 * 40)
    expect(nights.some(({ byChance }) => byChance.length > 0)).toBe(true)
    const { rows } = await sql<{ nights: number; chance: number; compared: number }>`
      select count(*) as nights, sum(by_chance)::integer as chance, sum(compared)::integer as compared
      from analysis.cadence_nights`.execute(table.db)
    const drawn = nights.reduce((sum, { byChance }) => sum + byChance.length, 0)
    const lastDrawn = nights.at(-1)?.byChance.length ?? 0
    // The first night is planned before the list is known.
    expect(rows).toEqual([{ nights: 39, chance: drawn, compared: drawn - lastDrawn }])
  })
})

describe('the decisions about a list', () => {
  test('are stored once for each query, and are the same when repeated', async () => {
    const histories = makeHistories({ seed: 'again', queries: 12, nights: 20 })
    await live(histories, 20)
    const { list } = await listAndIds()
    const night = { list, runDate: dateOf(firstDay + 20), longestDays: longest, ...supplier }
    const read = () => table.db.selectFrom('cadences').selectAll().orderBy('query_id').execute()
    await decideCadence(table.db, night)
    const once = await read()
    await decideCadence(table.db, night)
    expect(await read()).toEqual(once)
    expect(once).toHaveLength(12)
    expect(new Set(once.map(({ decided_on: on }) => on))).toEqual(new Set([night.runDate]))
    const { rows } = await sql<{ why: string; interval_days: number }>`
      select why, interval_days from analysis.cadence`.execute(table.db)
    expect(rows).toHaveLength(12)
    expect(rows.every(({ why }) => why.includes('comparisons: expected to change'))).toBe(true)
  })

  test('skip no query on a night that a clock dated before all answers', async () => {
    const histories = makeHistories({ seed: 'clock', queries: 6, nights: 12 })
    await live(histories, 12)
    const { list } = await listAndIds()
    const runDate = dateOf(firstDay - 30)
    await decideCadence(table.db, { list, runDate, longestDays: longest, ...supplier })
    const kept = await table.db.selectFrom('cadences').selectAll().execute()
    expect(kept.map(({ due_on: due }) => due)).toEqual(Array.from({ length: 6 }, () => runDate))
  })

  test('use no answer of another origin or API, and none of a suspect night', async () => {
    const histories = makeHistories({ seed: 'origin', queries: 6, nights: 12 })
    await live(histories, 12)
    const { list } = await listAndIds()
    const night = { list, runDate: dateOf(firstDay + 12), longestDays: longest }
    const intervals = async () => {
      const rows = await table.db.selectFrom('cadences').select('why').execute()
      return rows.map(({ why }) => why)
    }
    const unknown = Array.from({ length: 6 }, () => 'no earlier answer is known')
    await decideCadence(table.db, { ...night, origin: 'live', api: 'bundled' })
    expect(await intervals()).toEqual(unknown)
    await decideCadence(table.db, { ...night, origin: 'sandbox', api: 'other' })
    expect(await intervals()).toEqual(unknown)
    await decideCadence(table.db, { ...night, ...supplier })
    expect(await intervals()).not.toContain(unknown[0])
    await sql`update runs set suspect = true`.execute(table.db)
    await decideCadence(table.db, { ...night, ...supplier })
    expect(await intervals()).toEqual(unknown)
  })
})
