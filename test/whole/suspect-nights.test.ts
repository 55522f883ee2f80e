// @module-tag slow
import { describe, expect, test } from 'vitest'
import { takeNews } from '../support/news.ts'
import { verifyPromises } from '../support/promises.ts'
import { run } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

describe('a night with only empty answers', () => {
  test('is reported, marked as suspect, and left out of shares unless requested', async () => {
    const { api, mill } = await openScene()
    const told: string[] = []
    const night = async (day: number) => {
      const id = await mill.plan(queries(12))
      await mill.db
        .updateTable('runs')
        .set({ run_date: `2026-01-0${day}` })
        .where('id', '=', id)
        .execute()
      await mill.drain({ report: (line) => told.push(line) })
    }
    for (const day of [1, 2, 3]) await night(day)
    api.set({ faults: [{ kind: 'fields', what: 'empty' }] })
    await night(4)
    expect(told.filter((line) => line.includes('suspect'))).toEqual([
      'run 4 is suspect and was left out of trends: 100 % of the answers have no results, usually 0 %',
    ])
    const days = async () => {
      const { rows } = await mill.pool.query({
        text: 'select distinct run_date from analysis.observations order by 1',
        rowMode: 'array',
      })
      return rows.flat()
    }
    await mill.pool.query("set querymill.origins = 'live'")
    expect(await days()).toEqual(['2026-01-01', '2026-01-02', '2026-01-03'])
    const { rows } = await mill.pool.query(
      "select answered, unreadable, suspect, other_origin from analysis.coverage where run_date = '2026-01-04'",
    )
    expect(rows).toEqual([{ answered: 0, unreadable: 0, suspect: 12, other_origin: 0 }])
    const news = await takeNews(mill.db, ['run_suspect'])
    expect(news.map(({ text }) => text)).toEqual([
      'querymill: run 4 of test for 2026-01-04 is suspect and was left out of trends: 100 % of the answers have no results, usually 0 %',
    ])
    expect(await takeNews(mill.db, ['run_suspect'])).toEqual([])
    const newest = await mill.pool.query('select min(depth) as depth from analysis.latest')
    expect(newest.rows[0].depth).toBeGreaterThan(0)
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
    const asked = ['select count(*) from analysis.latest where depth = 0', '--format', 'csv']
    const hidden = await run('sql', asked, mill.env)
    const shown = await run('sql', [...asked, '--suspects'], mill.env)
    expect([hidden.stdout, shown.stdout].map((text) => text.trim().split('\n').at(-1))).toEqual([
      '0',
      '12',
    ])
  })
})
