import { describe, expect, test } from 'vitest'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await pool.query("insert into rival_domains (domain, label) values ('them.com', 'Them')")
  story.says('boots', { device: 'mobile' }).says('socks', { device: 'desktop' })
  await story.night('2026-01-01', {
    boots: placed(ten('r'), 1, 'us.com/'),
    socks: placed(ten('r'), 2, 'them.com/'),
  })
  await story.night('2026-01-02', {
    boots: placed(ten('r'), 4, 'us.com/'),
    socks: placed(ten('r'), 1, 'us.com/'),
  })
})

/** Cells of the row of a domain, by heading. */
async function lineOf(path: string, domain: string): Promise<Record<string, string>> {
  const markup = await scene.markup(path)
  const row = markup.split('<tr>').find((one) => one.includes(`>${domain}<`)) ?? ''
  const cells = row.matchAll(/data-head="([^"]*)">(.*?)<\/td>/gs)
  return Object.fromEntries(
    [...cells].map(([, head, cell = '']) => [head, cell.replace(/<[^>]*>/g, '').trim()]),
  )
}

/** The view's row for a domain. */
async function shareOf(domain: string, tag: string, day: string): Promise<string> {
  const { rows } = await scene.pool.query<{ share: number | null }>(
    'select share_of_voice as share from analysis.share_of_voice where domain = $1 and tag = $2 and run_date = $3',
    [domain, tag, day],
  )
  return `${((rows[0]?.share ?? 0) * 100).toFixed(2)} %`
}

describe('compare', () => {
  test('shows two dates side by side, for us and the competitors, as in the views', async () => {
    const path = '/compare?day_a=2026-01-01&day_b=2026-01-02'
    for (const domain of ['us.com', 'them.com']) {
      expect(await lineOf(path, domain), domain).toMatchObject({
        'Share A': await shareOf(domain, '*', '2026-01-01'),
        'Share B': await shareOf(domain, '*', '2026-01-02'),
      })
    }
    expect(await lineOf(path, 'us.com')).toMatchObject({ 'Top 3 A': '1', 'Top 10 B': '2' })
  })

  test('shows two devices of one date side by side', async () => {
    const line = await lineOf('/compare?label_a=device%3Dmobile&label_b=device%3Ddesktop', 'us.com')
    expect(line).toMatchObject({
      'Share A': await shareOf('us.com', 'device=mobile', '2026-01-02'),
      'Share B': await shareOf('us.com', 'device=desktop', '2026-01-02'),
      'Keywords A': '1',
    })
  })

  test('accepts six domains, and refuses a seventh', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, nth) => `r${nth + 1}.com`)
    expect((await scene.desk.get(`/compare?domain=${names(6).join('+')}`)).status).toBe(200)
    expect((await scene.desk.get(`/compare?domain=${names(7).join('+')}`)).status).toBe(400)
  })
})
