import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { readNight } from '../../../src/core/nights/health.ts'
import { readGoodNights } from '../../../src/core/nights/nights.ts'
import { countFailures } from '../../../src/core/runs/waits.ts'
import { readSharesOn } from '../../../src/features/alerts/find-alerts.ts'
import { storyScene } from '../../features/analysis/scene.ts'

const scene = storyScene()

/** Creates a due night for each date, with the run of that date. */
async function due(...dates: readonly string[]): Promise<void> {
  await sql`
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
    values ('nightly', 'main', '0 2 * * *', 'UTC', 'latest', 'skip', true, now(), now())`.execute(
    scene.db,
  )
  await sql`
    insert into nights (schedule, due_at, run_date, outcome, run_id)
    select 'nightly', run_date + interval '2 hours', run_date, 'ran', id
    from runs
    where run_date = any(${dates}::date[])`.execute(scene.db)
}

test('a night that skipped every query is a good one, and one whose requests failed is not', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: 'not_asked', boots: 'not_asked' })
  await scene.story.night('2026-01-03', { shoes: 'not_asked', boots: 'failed' })
  await due('2026-01-01', '2026-01-02', '2026-01-03')
  const seconds = Date.parse('2026-01-02T02:00:00Z') / 1000
  expect(await readGoodNights(scene.db)).toEqual([
    { schedule: 'nightly', seconds, nights_since: 1 },
  ])
})

test('skipped queries count as neither asked nor answered in the health of a night, and not as failures', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: ['a.com/'] })
  await scene.story.night('2026-01-02', { shoes: 'not_asked', boots: ['a.com/'] })
  expect(await readNight(scene.db, 2)).toMatchObject({ asked: 1, answered: 1 })
  await sql`update searches set parse_error = 'broken' where id = 1`.execute(scene.db)
  expect(await countFailures(scene.db, [2])).toEqual({})
})

test('a label whose queries were all skipped has no share that could raise an alert', async () => {
  await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: ['b.com/'] })
  await scene.story.night('2026-01-02', { shoes: 'not_asked', boots: ['b.com/'] })
  await scene.story.night('2026-01-03', { shoes: 'not_asked', boots: 'not_asked' })
  const shareOn = async (date: string) => {
    const found = await readSharesOn(scene.db, { tag: '*', date, domains: ['a.com'] })
    return found.map(({ share, queries }) => [share > 0, queries])
  }
  expect(await shareOn('2026-01-02')).toEqual([[true, 2]])
  expect(await shareOn('2026-01-03')).toEqual([])
})
