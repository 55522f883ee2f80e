// From a line of the schedule file to the queries of the night, through all components in between.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { planList } from '../../../src/core/enqueue/planning.ts'
import type { ListOrder } from '../../../src/core/enqueue/staging.ts'
import { noDefaults } from '../../../src/core/lists/options.ts'
import { loadSchedules } from '../../../src/core/scheduler/schedule.ts'
import { type NightTable, openNights } from '../../support/nights.ts'

const header = 'schedule,list,cron,on'
const supplier = { origin: 'sandbox', api: 'bundled', account: 'bundled' } as const

let table: NightTable
beforeEach(async () => {
  table = await openNights()
})
afterEach(() => table.close())

/** A night at two o'clock of this day, as in the schedule file. */
async function night(day: string): Promise<void> {
  const file = join(dirname(table.file), 'schedules.csv')
  writeFileSync(file, `${header}\nwords,${table.file},0 2 * * *,yes\n`)
  const { schedules, refusals } = await loadSchedules(table.db, { file, zone: 'UTC' })
  expect(refusals).toEqual([])
  await table.tickAt(`${day}T02:00:20Z`, ...schedules)
}

/** The queries of each run. */
async function asked(): Promise<readonly string[]> {
  const { rows } = await sql<{ said: string }>`
    select t.run_id || ' ' || q.q || ' ' || coalesce(q.gl, '-') || ' ' || coalesce(l.weight::text, '-') as said
    from tasks t
    join queries q on q.id = t.query_id
    join runs r on r.id = t.run_id
    join list_queries l on l.list_id = r.list_id and l.query_id = t.query_id
    order by t.run_id, q.q`.execute(table.db)
  return rows.map(({ said }) => said)
}

function order(text: string, reading: Partial<ListOrder['reading']>): ListOrder {
  writeFileSync(table.file, text)
  return {
    list: 'words',
    from: { kind: 'file', path: table.file, shown: 'words.csv' },
    reading: { matchTypes: 'keep', defaults: noDefaults, ...reading },
    kind: 'manual',
    runDate: '2026-10-01',
    budget: undefined,
    maxAgeMs: 0,
    into: null,
  }
}

describe('a night', () => {
  test('reads its list as the user last did, and uses the last reading if the format of the file has changed', async () => {
    const reading = { column: 'Phrase', map: [{ column: 'Market', role: 'gl' as const }] }
    const typed = order('Phrase,Market\nshoes,us\n', reading)
    await planList({ db: table.db, supplier }, typed)
    await table.answerAll()
    await night('2026-10-02')
    writeFileSync(table.file, 'Phrase,Market\nshoes,us\nhats,de\n')
    await night('2026-10-03')
    await table.answerAll()
    writeFileSync(table.file, 'Phrase,Market,Extra\nshoes,us,1\nboots,de,2\n')
    await night('2026-10-04')
    const weighed = (run: number, words: readonly string[]) =>
      words.map((word) => `${run} ${word} -`)
    expect(await asked()).toEqual([
      ...weighed(1, ['shoes us']),
      ...weighed(2, ['hats de', 'shoes us']),
      ...weighed(3, ['hats de', 'shoes us']),
    ])
    const [, changed] = await table.nights()
    expect(changed?.outcome).toBe('ran')
    expect(changed?.note).toContain(
      'to have 2 columns, as it did when its format was last confirmed, got 3',
    )
    expect(changed?.note).toContain('the queries from the last successful read are used')
    // After a manual enqueue, the next night reads the new format.
    await table.answerAll()
    await planList({ db: table.db, supplier }, order('Phrase,Market,Extra\nboots,de,2\n', reading))
    await table.answerAll()
    await night('2026-10-05')
    expect((await asked()).filter((said) => said.startsWith('5 '))).toEqual(
      weighed(5, ['boots de']),
    )
  })
})
