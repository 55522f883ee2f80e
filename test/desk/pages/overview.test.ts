import { describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await pool.query("insert into rival_domains (domain, label) values ('them.com', 'Them')")
  await story.night('2026-01-01', {
    boots: placed(ten('r'), 5, 'us.com/boots'),
    socks: placed(ten('r'), 2, 'us.com/socks'),
    hats: ten('r'),
  })
  await story.night('2026-01-02', {
    boots: placed(placed(ten('r'), 3, 'us.com/boots'), 1, 'them.com/'),
    socks: ten('r'),
    hats: placed(ten('r'), 9, 'us.com/hats'),
  })
})

/** Figures of a page by name. */
async function figuresOf(path: string): Promise<Record<string, string>> {
  const markup = await scene.markup(path)
  const found = markup.matchAll(/data-figure="([^"]*)" data-value="([^"]*)"/g)
  return Object.fromEntries([...found].map(([, name, value]) => [name, value]))
}

describe.each(['answers alone', 'stored days'])('the overview, from %s', (source) => {
  test('counts changes as the views do, each count with a link to its keywords', async () => {
    if (source === 'stored days') await finishDays(scene.db)
    const { rows } = await scene.pool.query<{ change: string; count: number }>(
      `select change, count(*) as count
      from analysis.movers
      where domain = 'us.com' and run_date = '2026-01-02'
      group by change`,
    )
    const figures = await figuresOf('/')
    expect(rows).toHaveLength(3)
    for (const { change, count } of rows) {
      expect(figures[change], change).toBe(String(count))
      const csv = await scene.desk.get(`/keywords/rows.csv?change=${change}&column=rank`)
      expect(csv.text.trim().split('\n'), change).toHaveLength(count + 1)
    }
    expect(figures).toMatchObject({
      'rank 1-3': '1',
      'rank 4-10': '1',
      'rank none': '1',
      down: '0',
    })
  })

  test('shows the share of voice of the views, and the change since the day before', async () => {
    const { rows } = await scene.pool.query<{ share: number }>(
      `select share_of_voice as share
      from analysis.share_of_voice
      where domain = 'us.com' and tag = '*'
      order by run_date`,
    )
    const [before = 0, now = 0] = rows.map(({ share }) => share * 100)
    const page = await scene.view('/')
    expect(page).toContain(`share of voice ${now.toFixed(2)} %`)
    expect(page).toContain((now - before).toFixed(2))
  })

  test('names the keywords and pages with the largest gains and losses', async () => {
    const page = await scene.view('/')
    expect(page).toMatch(/Biggest gains: keywords.* boots 5 → 3/)
    expect(page).toMatch(/Biggest losses: keywords.* socks 2 → –/)
    expect(page).toMatch(/Biggest losses: pages.* us.com\/socks/)
  })
})

describe('the list of problems', () => {
  test('is one line if there are none', async () => {
    expect(await scene.view('/')).toContain('No action needed.')
  })

  test('has one line for the alerts of one night and kind, with severity and a link to both nights', async () => {
    const query = scene.story.idOf('hats')
    for (const q of ['hats', 'socks']) {
      await scene.pool.query(
        `insert into alerts (rule, what, subject, said, question, list, query_id, domain, origin, base_run_date, run_date, run_id)
        values ('gone', 'left', $2, 'a.com left for ' || $2, 'movers', 'main', $1, 'a.com', 'live', '2026-01-01', '2026-01-02', 2)`,
        [scene.story.idOf(q), q],
      )
    }
    expect(await scene.view('/')).toMatch(/severe\s+2026-01-02: 2 × left the results/)
    expect(await scene.markup('/')).toContain(
      `<a href="/queries/${query}/nights/2026-01-02?beside=2026-01-01">both nights</a>`,
    )
  })

  test('has one headline for a suspect night, with its reason and page, and the command for a failed run', async () => {
    const today = new Date().toISOString().slice(0, 10)
    await scene.story.night(today, { boots: 'failed', socks: ten('r'), hats: ten('r') })
    const { rows } = await scene.pool.query<{ id: number }>(
      'update runs set suspect = true where run_date = $1 returning id',
      [today],
    )
    await scene.pool.query(
      `insert into night_health (run_id, asked, answered, empty, unreadable, minutes, workers, reasons)
      values ($1, 3, 2, 0, 0, 1, 1, '{"every answer is empty"}')`,
      [rows[0]?.id],
    )
    const page = await scene.view('/')
    expect(page.match(/left out as suspect/g)).toHaveLength(1)
    expect(page).toContain(
      `The night of ${today} (main) is left out as suspect: every answer is empty.`,
    )
    expect(page).toContain(`npm run retry -- --run ${rows[0]?.id}`)
    expect(page).not.toContain('No action needed')
  })
})
