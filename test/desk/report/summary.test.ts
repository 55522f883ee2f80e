// @module-tag slow
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openReceiver } from '../../features/notifications/receiver.ts'
import { placed, ten } from '../../features/analysis/story.ts'
import { run } from '../../support/run.ts'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await story.night('2026-01-01', { boots: placed(ten('r'), 5, 'us.com/1'), 'a <b>': ten('r') })
  await story.night('2026-01-02', {
    boots: placed(ten('r'), 3, 'us.com/1'),
    'a <b>': placed(ten('r'), 9, 'us.com/2'),
  })
})

const link = 'https://desk.example.com'

describe('the morning summary', () => {
  test('is a page with the headline of the overview, at most thirty lines, and links to the desk', async () => {
    const home = mkdtempSync(join(tmpdir(), 'querymill-summary-'))
    onTestFinished(() => rmSync(home, { recursive: true }))
    const to = join(home, 'summary.html')
    const { code, stderr } = await run('report', ['--summary', '--to', to, '--desk', link], {
      DATABASE_URL: scene.url,
    })
    expect(code, stderr).toBe(0)
    const page = readFileSync(to, 'utf8')
    const lead = /class="lead">([^<]*)</.exec(await scene.markup('/'))?.[1] ?? 'none'
    expect(page).toMatch(/<title>\s*querymill 2026-01-02: share of voice .* 2 keywords up or new/)
    expect(page).toContain(`querymill ${lead}`)
    const lines = page.split('<li>').length - 1
    expect(lines).toBeGreaterThan(5)
    expect(lines).toBeLessThanOrEqual(30)
    expect(page).toContain(`href="${link}/keywords?day=2026-01-02&amp;change=up"`)
    expect(page).toContain('Won: a &lt;b&gt;, rank none → 9')
    expect(page).not.toMatch(/<script|<link|<style/)
  })

  test.each(['json', 'slack'])('is one message for the webhook as %s', async (format) => {
    const receiver = await openReceiver()
    onTestFinished(async () => {
      await receiver.close()
    })
    const settings = { MILL_WEBHOOK: receiver.url.href, MILL_WEBHOOK_FORMAT: format }
    const { code, stderr } = await run('report', ['--summary', '--send', '--desk', link], {
      DATABASE_URL: scene.url,
      ...settings,
    })
    expect(code, stderr).toBe(0)
    const [body] = receiver.bodies()
    expect(JSON.stringify(body)).toContain('querymill 2026-01-02: share of voice')
    const { event = null } = body as { readonly event?: string }
    expect(event).toBe(format === 'json' ? 'morning_summary' : null)
  })

  test('exits with 5 and one line if the webhook cannot be reached', async () => {
    const gone = await openReceiver()
    await gone.close()
    const { code, stderr } = await run('report', ['--summary', '--send'], {
      DATABASE_URL: scene.url,
      MILL_WEBHOOK: gone.url.href,
    })
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: expect.stringMatching(/^error: expected the webhook to respond, got ECONNREFUSED\n$/),
    })
  })

  test('without a file or a webhook says which flag is missing', async () => {
    const env = { DATABASE_URL: scene.url }
    expect(await run('report', ['--summary'], env)).toMatchObject({ code: 2 })
    expect((await run('report', ['--summary', '--send'], env)).stderr).toContain('MILL_WEBHOOK')
  })
})
