// @module-tag slow
import { describe, expect, test } from 'vitest'
import { takeNews } from '../support/news.ts'
import { verifyPromises } from '../support/promises.ts'
import { run } from '../support/run.ts'
import { openScene, queries, type Scene, type SceneOptions } from '../support/scene.ts'

/** Nights of one list, one per day from 2026-01-01 on. */
async function openNights(options: SceneOptions = {}) {
  const scene = await openScene(options)
  const { mill } = scene
  await mill.pool.query("set querymill.origins = 'live'")
  const told: string[] = []
  let day = 0
  const plan = async (num = 100, budget?: number) => {
    day += 1
    const asked = queries(12).map((q) => ({ q, num }))
    const id = await mill.plan(asked, budget === undefined ? {} : { budget })
    await mill.pool.query(
      `update runs set run_date = date '2025-12-31' + $2::integer where id = $1`,
      [id, day],
    )
    return id
  }
  const drain = () => mill.drain({ report: (line) => told.push(line) })
  /** One night, and the remarks about it. */
  const night = async (num?: number) => {
    const before = told.length
    await plan(num)
    expect(await drain()).toMatchObject({ finish: 'completed' })
    return told.slice(before).filter((line) => /suspect|odd/.test(line))
  }
  return { ...scene, told, plan, drain, night }
}

async function newestDay({ mill }: Scene) {
  const { rows } = await mill.pool.query("select analysis.newest_day('test') as day")
  return rows[0].day
}

async function suspectDays({ mill }: Scene) {
  const { rows } = await mill.pool.query('select run_date from runs where suspect order by id')
  return rows.map(({ run_date: day }) => day)
}

describe('a night that was paused until there were credits', () => {
  test('is judged without the paused time, and its ranks and shares are shown', async () => {
    const scene = await openNights({ api: { credits: 100 + 3 * 12 + 5 } })
    const { api, mill, told, plan, drain, night } = scene
    for (const _ of [1, 2, 3]) expect(await night(10)).toEqual([])
    const id = await plan(10)
    expect(await drain()).toMatchObject({ finish: 'credit_floor', answered: 5 })
    // The stop began half an hour after the run was created, and lasted six and a half hours.
    await mill.pool.query(
      "update runs set created_at = created_at - interval '7 hours' where id = $1",
      [id],
    )
    await mill.pool.query(`
      update calls
      set sent_at = sent_at - interval '7 hours', finished_at = finished_at - interval '7 hours'
      where task_id in (select id from tasks where run_id = ${id})`)
    await mill.pool.query("update stops set since = since - interval '6.5 hours'")
    api.renew(1000)
    expect(await run('resume', [], mill.env)).toMatchObject({ code: 0 })
    expect(await drain()).toMatchObject({ finish: 'completed', answered: 7 })
    expect(told.filter((line) => /suspect|odd/.test(line))).toEqual([])
    const { rows } = await mill.pool.query(
      `select suspect, reasons, remarks, round(minutes) as minutes, round(paused_minutes) as paused
       from analysis.night_health where run_id = $1`,
      [id],
    )
    expect(rows).toEqual([{ suspect: false, reasons: [], remarks: [], minutes: 420, paused: 390 }])
    expect(await newestDay(scene)).toBe('2026-01-04')
    const shares = await mill.pool.query(
      "select from analysis.share_of_voice where run_date = '2026-01-04'",
    )
    expect(shares.rowCount).toBeGreaterThan(0)
  })
})

describe('a lasting change', () => {
  test('of the price is reported, and the ranks are shown from its first night on', async () => {
    const scene = await openNights({ api: { cost: 1, credits: 100_000 } })
    const { api, mill, night } = scene
    for (const _ of [1, 2, 3]) expect(await night()).toEqual([])
    api.set({ cost: 3 })
    const odd = 'an answer cost 3.0 credits, usually 1.0'
    expect(await night()).toEqual([`run 4 is odd, but shown: ${odd}`])
    expect(await newestDay(scene)).toBe('2026-01-04')
    const { rows } = await mill.pool.query(`
      select
        (select count(*) from analysis.movers where run_date = '2026-01-04') as moves,
        (select count(*) from analysis.share_of_voice where run_date = '2026-01-04') as shares,
        (select suspect from analysis.days where run_date = '2026-01-04') as suspect`)
    expect(rows[0].suspect).toBe(false)
    expect(rows[0].moves).toBeGreaterThan(0)
    expect(rows[0].shares).toBeGreaterThan(0)
    expect(await night()).toEqual([`run 5 is odd, but shown: ${odd}`])
    expect(await night()).toEqual([
      `run 6 is odd, but shown: ${odd}; the two previous runs were similar, so this is the new normal`,
    ])
    expect(await night()).toEqual([])
    expect(await newestDay(scene)).toBe('2026-01-07')
    expect(await suspectDays(scene)).toEqual([])
    const news = await takeNews(mill.db, ['run_suspect', 'run_odd'])
    expect(news[0]?.text).toBe(`querymill: run 4 of test for 2026-01-04 is odd, but shown: ${odd}`)
    expect(news.map(({ kind }) => kind)).toEqual(['run_odd', 'run_odd', 'run_odd'])
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
  })

  test('of the number of results hides two nights; the third is normal, and shown', async () => {
    const scene = await openNights({ api: { credits: 100_000 } })
    const { night } = scene
    for (const _ of [1, 2, 3]) expect(await night(100)).toEqual([])
    for (const _ of [4, 5]) {
      expect(await night(10)).toEqual([expect.stringMatching(/^run \d is suspect.* results deep/)])
      expect(await newestDay(scene)).toBe('2026-01-03')
    }
    expect(await night(10)).toEqual([
      expect.stringMatching(/^run 6 is odd.* results deep.*the new normal$/),
    ])
    expect(await newestDay(scene)).toBe('2026-01-06')
    for (const day of [7, 8]) {
      expect(await night(10)).toEqual([])
      expect(await newestDay(scene)).toBe(`2026-01-0${day}`)
    }
    expect(await suspectDays(scene)).toEqual(['2026-01-04', '2026-01-05'])
  })

  test('does not exist if a good night lies in between: each odd one stays suspect', async () => {
    const scene = await openNights({ api: { credits: 100_000 } })
    for (const num of [100, 100, 100, 10, 10, 100, 10, 10, 100]) await scene.night(num)
    expect(await suspectDays(scene)).toEqual([
      ...['2026-01-04', '2026-01-05', '2026-01-07', '2026-01-08'],
    ])
    expect(await newestDay(scene)).toBe('2026-01-09')
  })

  test('does not exist if answers are empty, however many nights it lasts', async () => {
    const scene = await openNights({ api: { credits: 100_000 } })
    for (const _ of [1, 2, 3]) await scene.night()
    scene.api.set({ faults: [{ kind: 'fields', what: 'empty' }] })
    for (const id of [4, 5, 6, 7]) {
      expect(await scene.night()).toEqual([
        `run ${id} is suspect and was left out of trends: 100 % of the answers have no results, usually 0 %`,
      ])
    }
    expect(await newestDay(scene)).toBe('2026-01-03')
    scene.api.set({ faults: [] })
    expect(await scene.night()).toEqual([])
    expect(await newestDay(scene)).toBe('2026-01-08')
  })
})

describe('a run that is no evidence about a night', () => {
  test('is not judged: cancelled before it began or in the middle, or without credits for any query', async () => {
    const scene = await openNights({ api: { credits: 100 + 3 * 12 + 5 } })
    const { api, mill, told, plan, drain, night } = scene
    for (const _ of [1, 2, 3]) await night(10)
    const idle = await plan(10)
    expect(await run('cancel', ['--run', String(idle), '--yes'], mill.env)).toMatchObject({
      code: 0,
    })
    const half = await plan(10)
    expect(await drain()).toMatchObject({ finish: 'credit_floor', answered: 5 })
    expect(await run('cancel', ['--run', String(half), '--yes'], mill.env)).toMatchObject({
      code: 0,
    })
    api.renew(1000)
    expect(await run('resume', [], mill.env)).toMatchObject({ code: 0 })
    await plan(10, 0)
    await drain()
    const { rows } = await mill.pool.query(`
      select runs.state, health.reasons, health.remarks
      from runs
      join analysis.night_health as health on health.run_id = runs.id
      where runs.id >= ${idle}
      order by runs.id`)
    expect(rows).toEqual([
      { state: 'cancelled', reasons: [], remarks: [] },
      { state: 'cancelled', reasons: [], remarks: [] },
      { state: 'done', reasons: [], remarks: [] },
    ])
    expect(told.filter((line) => /suspect|odd/.test(line))).toEqual([])
    expect(await night(10)).toEqual([])
    expect(await suspectDays(scene)).toEqual([])
  })
})
