import { describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { ten } from '../../features/analysis/story.ts'
import { deskScene, untimed } from '../scene.ts'

const hostile = '<script>alert(1)</script>'

const scene = deskScene(async ({ story, pool }) => {
  story.says('boots', { weight: 7, tags: ['winter', hostile], target: 'javascript:alert(1)' })
  await story.night('2026-01-01', { boots: ten('r'), socks: 'failed', hats: ten('h') })
  await story.night('2026-01-02', { boots: ten('r'), socks: 'reused', hats: 'unknown' })
  await pool.query('update runs set spent = 5, rows = 4, accepted = 3, rejected = 1')
  await pool.query("insert into rejected_lines values (2, 4, 'too long', $1)", [hostile])
  await pool.query("update list_queries set given = ' SOCKS ' where query_id = $1", [
    story.idOf('socks'),
  ])
  // Missing from the list since today's reading.
  await pool.query("update list_queries set last_seen = '2025-01-01' where query_id = $1", [
    story.idOf('hats'),
  ])
  await pool.query("update list_queries set last_seen = '2026-01-02' where query_id <> $1", [
    story.idOf('hats'),
  ])
})

const days = 'since=2026-01-01&until=2026-01-02'

describe('lists', () => {
  test('are each shown with queries, newest run and rejected lines', async () => {
    const text = await scene.view('/lists')
    expect(text).toMatch(/main 2 2026-01-02 done 1/)
    expect((await scene.desk.get('/lists')).text).toContain('href="/lists/1#rejected"')
  })

  test('have the coverage and costs of the views and the runs', async () => {
    const text = await scene.view(`/lists/1?${days}`)
    const { rows } = await scene.pool.query<Record<string, number | string>>(
      `select run_date, round(100 * share::numeric, 2)::text as share, planned, bought, reused, not_asked, failed, unknown, open
      from analysis.coverage
      where list = 'main'
      order by run_date desc`,
    )
    expect(rows).toHaveLength(2)
    for (const row of rows) {
      const counts = [
        row['planned'],
        row['bought'],
        row['reused'],
        row['not_asked'],
        row['failed'],
        row['unknown'],
        row['open'],
      ]
      expect(text).toContain(`${row['run_date']} ${row['share']} % ${counts.join(' ')}`)
    }
    expect(text).toContain('credits in this period 10')
  })

  test('show members with weights, labels and the line they were read from', async () => {
    const text = await scene.view(`/lists/1?${days}`)
    expect(text).toMatch(/boots – – 7 5 winter, &lt;script&gt;/)
    expect(text).toMatch(/socks – SOCKS – 5/)
    expect(text).toMatch(/hats no longer in the list/)
    expect((await scene.desk.get('/lists/1')).text).toContain(
      `href="/queries/${scene.story.idOf('boots')}"`,
    )
  })

  test('find members by text, label, and whether their line was read differently', async () => {
    expect(await scene.view('/lists/1?word=OOT')).not.toContain('socks')
    expect(await scene.view('/lists/1?tag=winter')).not.toContain('hats')
    const other = await scene.view('/lists/1?respelled=1')
    expect(other).toContain('SOCKS')
    expect(other).not.toContain('hats')
    expect(await scene.view('/lists/1?sheet=2')).toContain('No queries in the list match')
  })

  test('show rejected lines with their reasons, and the lines add up', async () => {
    const text = await scene.view('/lists/1')
    expect(text).toContain('read 4 lines: 3 accepted')
    expect(text).toMatch(/4 too long &lt;script&gt;/)
  })

  test('an unknown list and invalid filters are refused, and only a part of ten years is read', async () => {
    expect((await scene.desk.get('/lists/77')).status).toBe(404)
    expect((await scene.desk.get('/lists/nonsense')).status).toBe(404)
    expect((await scene.desk.get('/lists/1?sheet=0')).status).toBe(400)
    expect((await scene.desk.get('/lists/1?since=2026-02-30')).status).toBe(400)
    expect(await scene.view('/lists/1?since=2016-01-01&until=2026-01-02')).toContain(
      'the maximum for one page',
    )
  })

  test('have the same coverage from stored days, and follow a change of answers and costs', async () => {
    const path = `/lists/1?${days}`
    const live = untimed(await scene.view(path))
    expect(live).toMatch(/2026-01-01 66\.67 % 3 2 0 0 1 0 0 0 5 /)
    await finishDays(scene.db)
    expect(untimed(await scene.view(path))).toBe(live)
    expect(untimed(await scene.view(path))).toBe(live)
    await scene.pool.query('update runs set spent = 7')
    await scene.pool.query(
      `insert into quarantine (search_id, run_id, reason)
      select searches.id, tasks.run_id, 'test'
      from searches
      join tasks on tasks.id = searches.task_id
      where run_id = 1 and searches.query_id = $1`,
      [scene.story.idOf('boots')],
    )
    await finishDays(scene.db)
    expect(await scene.view(path)).toMatch(/2026-01-01 33\.33 % 3 1 0 0 1 0 0 1 7 /)
  })
})
