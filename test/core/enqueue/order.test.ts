import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

test('a budget that ends in the middle of a list has bought the most urgent and, of those, the highest-weighted queries', async () => {
  const { mill } = await openScene({ settings: { MILL_CONCURRENCY: '5' } })
  const lines = Array.from({ length: 120 }, (_, index) => {
    const line = (index * 37) % 120
    return `query ${line},${line < 100 ? 5 : 7},${line}`
  })
  const file = join(mkdtempSync(join(tmpdir(), 'querymill-order-')), 'weighed.csv')
  writeFileSync(file, `q,priority,weight\n${lines.join('\n')}\n`)
  const queued = await run('enqueue', [file, '--yes', '--budget', '40'], mill.env)
  expect(queued.code).toBe(0)
  expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 40 })
  const { rows } = await sql<{ least: number; most: number }>`
    select min(weight) as least, max(weight) as most
    from tasks
    join runs on runs.id = tasks.run_id
    join list_queries using (list_id, query_id)
    where tasks.state = 'answered'`.execute(mill.db)
  // Two slices of 25 are in progress at a time, so the last calls may be one slice out of order.
  expect(rows[0]?.most).toBe(99)
  expect(rows[0]?.least).toBeGreaterThanOrEqual(100 - 40 - 25)
})
