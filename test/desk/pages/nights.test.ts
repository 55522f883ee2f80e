import { describe, expect, test } from 'vitest'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ pool }) => {
  await pool.query(`
    insert into lists (id, name, source) overriding system value values (1, 'shoes', 'a.csv'), (2, '<b>bold</b>', 'b.csv');
    insert into runs (id, list_id, run_date, kind, state, max_age_ms, spent, suspect, finished_at) overriding system value
    values
      (1, 1, '2026-01-01', 'nightly', 'done', 0, 60, false, now()),
      (2, 1, '2026-01-02', 'nightly', 'done', 0, 61, true, now()),
      (3, 1, '2026-01-03', 'nightly', 'cancelled', 0, 0, false, now()),
      (4, 2, '2026-01-03', 'manual', 'open', 0, 7, false, null),
      (5, 1, '2026-01-05', 'nightly', 'done', 0, 180, false, now());
    insert into night_health (run_id, asked, answered, empty, unreadable, depth, price, minutes, workers, reasons)
    values
      (1, 60, 60, 0, 0, 10, 1, 3, 1, '{}'),
      (2, 60, 31, 0, 0, 10, 3, 3, 1, '{an answer cost 3.0 credits}');
    insert into night_health (run_id, asked, answered, empty, unreadable, depth, price, minutes, workers, reasons, remarks)
    values (5, 60, 60, 0, 0, 10, 3, 3, 1, '{}', '{an answer cost 3.0 credits}');
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
    values ('each night', 'shoes', '0 2 * * *', 'UTC', 'latest', 'skip', true, now(), now());
    insert into nights (schedule, due_at, run_date, outcome, run_id, note)
    values
      ('each night', '2026-01-01 02:00Z', '2026-01-01', 'ran', 1, null),
      ('each night', '2026-01-04 02:00Z', '2026-01-04', 'missed', null, 'nobody was there')`)
})

describe('nights', () => {
  test('each night has a square with its outcome in words, including those without a run', async () => {
    const { text } = await scene.desk.get('/nights?since=2026-01-01&until=2026-01-31')
    for (const label of [
      '2026-01-01: done, 60 of 60 answered',
      '2026-01-02: suspect, 31 of 60 answered: an answer cost 3.0 credits',
      '2026-01-03: cancelled',
      '2026-01-05: done, 60 of 60 answered; odd: an answer cost 3.0 credits',
      '2026-01-04: missed: nobody was there',
    ]) {
      expect(text).toContain(`title="${label}"`)
    }
    expect(text).toContain('href="/runs/2"')
    expect(text).toContain('&lt;b&gt;bold&lt;/b&gt;')
    expect(text).not.toContain('<b>bold')
  })

  test('other days show other nights', async () => {
    const { text } = await scene.desk.get('/nights?since=2026-01-02&until=2026-01-02')
    expect(text).toContain('2026-01-02: suspect')
    expect(text).not.toContain('2026-01-01: done')
    for (const wrong of [
      'since=2026-02-30',
      'until=yesterday',
      'since=2026-01-05&until=2026-01-01',
    ]) {
      expect((await scene.desk.get(`/nights?${wrong}`)).status, wrong).toBe(400)
    }
  })

  test('a night shows its cost beside the forecast, and links to its neighbours', async () => {
    const { status, text } = await scene.desk.get('/runs/2')
    expect(status).toBe(200)
    expect(text).toContain('an answer cost 3.0 credits')
    expect(text).toMatch(/expected credits at the prices of earlier nights<\/dt>\s*<dd>60<\/dd>/)
    expect(text).toMatch(/data-figure="spent" data-value="61"/)
    expect(text).toMatch(/with a readable answer<\/dt>\s*<dd>51.67 %<\/dd>/)
    expect(text).toContain('href="/runs/1"')
    expect(text).toContain('href="/runs/3"')
  })

  test('an odd night says so on its page, and that it is shown', async () => {
    const { text } = await scene.desk.get('/runs/5')
    expect(text).toContain('Odd, but shown')
    expect(text).toContain('<li>an answer cost 3.0 credits</li>')
    expect(text).not.toContain('Suspect: left out of shares')
    expect(text).toMatch(/expected credits at the prices of earlier nights<\/dt>\s*<dd>60<\/dd>/)
    expect((await scene.desk.get('/runs/2')).text).toContain('Suspect: left out of shares')
  })

  test('a run that does not exist is not found, whatever its number', async () => {
    for (const run of ['99', '0', '-1', '1e3', 'x', '9'.repeat(40), "1'--"]) {
      const { status, text } = await scene.desk.get(`/runs/${encodeURIComponent(run)}`)
      expect(status, run).toBe(404)
      expect(text).toContain('There is no run')
    }
  })
})
