// @module-tag slow
import { describe, expect, test } from 'vitest'
import { readSlice } from '../../../src/base/database/views.ts'
import { readReport, renderPage } from '../../../src/desk/report/page.ts'
import { readSnapshot } from '../../../src/desk/page.ts'
import { placed, ten } from '../../features/analysis/story.ts'
import { importsOf } from '../../house/imports.ts'
import { readTree } from '../../house/tree.ts'
import { deskScene } from '../scene.ts'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await pool.query("insert into notes.annotations (date, text) values ('2026-01-02', 'A sale')")
  await pool.query("insert into accounts (name, kind, obs_remaining) values ('test', 'live', 900)")
  await story.night('2026-01-01', {
    boots: placed(ten('r'), 1, 'us.com/1'),
    socks: placed(ten('r'), 5, 'us.com/3'),
  })
  await story.night('2026-01-02', {
    boots: placed(placed(ten('r'), 4, 'us.com/1'), 1, 'them.com/'),
    socks: placed(ten('r'), 2, 'us.com/3'),
  })
})

const days = 'since=2026-01-01&until=2026-01-02'
const config = { zone: 'UTC', renewal: null }
const all = readSlice(new Map())

async function writeReport(): Promise<string> {
  const order = { slice: all, domains: ['us.com'], today: '2026-01-02', config }
  const found = await readSnapshot(scene.db, { role: null }, (trx) => readReport(trx, order))
  return renderPage(found, new Date('2026-01-03T10:00:00Z'))
}

const tidy = (markup: string) => markup.replace(/\s+/g, ' ')

/** The charts of a page by their descriptions. */
function picturesOf(markup: string): Map<string, string> {
  const found = [...markup.matchAll(/<svg[^>]*role="img"[^>]*aria-label="([^"]*)".*?<\/svg>/gs)]
  return new Map(found.map(([picture, title = '']) => [title, tidy(picture)]))
}

/** A section with the texts of its table, by the name of the table. */
function tablesOf(markup: string): Map<string, string> {
  const found = [...markup.matchAll(/aria-label="([^"]*)" tabindex="0">\s*(<table>.*?<\/table>)/gs)]
  return new Map(
    found.map(([, name = '', table = '']) => [
      name,
      table
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    ]),
  )
}

describe('report and desk', () => {
  test.each([
    [
      '/domains/us.com',
      [
        'Share of voice of us.com, day by day',
        'Queries for which us.com ranks 1 to 3, 4 to 10 or further down, day by day',
      ],
      ['Positions in numbers', 'Clicks exchanged with other domains', 'Rivals'],
    ],
    ['/lists/1', ['Planned and answered queries of main, day by day'], ['Coverage day by day']],
  ])(
    'show the same charts and tables of %s, character for character',
    async (path, pictures, tables) => {
      const desk = await scene.markup(`${path}?${days}`)
      const report = await writeReport()
      for (const title of pictures) {
        const drawn = picturesOf(desk).get(title)
        expect(drawn, title).toBeDefined()
        // The report shows ninety days, of which the same two have answers.
        expect(picturesOf(report).get(title), title).toBe(drawn)
      }
      for (const name of tables) {
        const told = tablesOf(desk).get(name)
        expect(told, name).toBeDefined()
        expect(tablesOf(report).get(name), name).toBe(told)
      }
    },
  )

  test('show the same gains and losses, the desk with links to both nights', async () => {
    const desk = tablesOf(await scene.markup(`/domains/us.com?${days}`))
    const report = tablesOf(await writeReport())
    for (const name of ['Won', 'Lost']) {
      const told = desk.get(name) ?? ''
      expect(told, name).toContain('side by side')
      const without = told.replaceAll(/ (?:Both nights|side by side)/g, '')
      expect(report.get(name), name).toBe(without)
    }
  })

  test('show the same nights and credits', async () => {
    const report = tablesOf(await writeReport())
    const nights = tablesOf(await scene.markup(`/nights?${days}`)).get('The newest nights')
    expect(nights).toContain('2026-01-02')
    expect(report.get('The newest nights')).toBe(nights)
    const money = await scene.markup(`/money?${days}`)
    expect(money).toContain('Balance of')
    expect(tidy(await writeReport())).toContain(
      tidy(/<section id="account-\d+">.*?<\/dl>/s.exec(money)?.[0] ?? 'no account'),
    )
  })

  test('offer the figures of each chart', async () => {
    const { rows } = await scene.pool.query("select id from queries where q = 'boots'")
    const trend = '/ask/shares?go=1&domain=us.com&over=day'
    const desk = ['/domains/us.com', '/lists/1', '/money', `/queries/${rows[0].id}`].map(
      (path) => `${path}?${days}`,
    )
    // Two nights reported the same balance, which is no line, so money has no chart here.
    const least = new Map([[`/money?${days}`, 0]])
    for (const path of [null, trend, ...desk]) {
      const markup = path === null ? await writeReport() : await scene.markup(path)
      const titles = [...picturesOf(markup).keys()]
      const links = [...markup.matchAll(/aria-label="Figures as CSV: ([^"]*)"/g)]
      expect(
        links.map(([, title]) => title),
        path ?? 'report',
      ).toEqual(titles)
      expect(titles.length, path ?? 'report').toBeGreaterThanOrEqual(least.get(path ?? '') ?? 1)
    }
  })

  test('the report has one chart of its own, the small ones of queries: all others are parts of the desk', () => {
    const drawers = importsOf(readTree(['src/desk/report'], ['.ts']))
      .filter(({ to }) => to.endsWith('/drawing/lines.ts'))
      .map(({ from }) => from)
    expect(drawers).toEqual(['src/desk/report/page.ts'])
  })
})
