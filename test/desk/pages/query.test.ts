import { describe, expect, test } from 'vitest'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene, wordsOf } from '../scene.ts'

const hostile = '<script>alert(1)</script>"\'`&'
const body = Buffer.from('{"raw": "\u00e9 <b>as it came</b>"}\n')

let boots: string
let call: number

const scene = deskScene(async ({ story, pool }) => {
  story
    .says('boots', { weight: 7, tags: ['winter', hostile] })
    .says('boots @m', { device: 'mobile' })
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  const words = { entities: ['Leather'], clusters: [hostile], related: ['boots', 'red boots'] }
  const titles = ten('r').map((_, index) => `Old ${index}`)
  await story.night('2026-01-01', {
    boots: { results: placed(ten('r'), 4, 'us.com/1'), titles, credits: 3, ...words },
    'boots @m': ten('m'),
    [hostile]: {
      results: ['javascript:alert(1)', 'https://ok.com/a'],
      titles: [hostile, 'fine'],
      domain: 'odd.com',
    },
  })
  await story.night('2026-01-02', { boots: 'failed' })
  const found = await story.night('2026-01-03', {
    boots: {
      results: placed(placed(ten('r'), 2, 'us.com/1'), 9, 'fresh.com/'),
      titles: titles.with(0, 'Renamed').with(1, 'Old 3'),
      credits: 5,
    },
  })
  call = found.get('boots') ?? 0
  await pool.query('insert into raw_answers (call_id, status, body) values ($1, 200, $2)', [
    call,
    body,
  ])
  await story.night('2026-01-04', { boots: 'reused' })
  await pool.query("insert into notes.annotations (date, text) values ('2026-01-03', $1)", [
    hostile,
  ])
  boots = story.idOf('boots')
})

describe('searching queries', () => {
  test('a part of a text finds its queries, with their distinguishing parameters, and links to each', async () => {
    const text = await scene.markup('/keywords?word=OOT&column=device&column=list')
    expect(text).toContain(`href="/queries/${boots}"`)
    expect(text).toContain(`href="/queries/${scene.story.idOf('boots @m')}"`)
    expect(wordsOf(text)).toContain('boots – mobile')
  })

  test('a percent sign is an ordinary character', async () => {
    expect(await scene.view('/keywords?word=%25')).toContain('No keywords match')
  })

  test('a word that no query contains is reported', async () => {
    expect(await scene.view('/keywords?word=nowhere')).toContain('No keywords match')
  })
})

describe('the page of a query', () => {
  const days = 'since=2026-01-01&until=2026-01-04'

  test('has the positions, days and credits of the tables', async () => {
    const text = await scene.view(`/queries/${boots}?${days}&domain=fresh.com`)
    expect(text).toContain('rank of us.com 2')
    expect(text).toContain('days with an answer (of 4 asked) 3')
    expect(text).toContain('credits in this period 8')
    expect(text).toMatch(/us\.com, 2026-01-01: position 4\b/)
    expect(text).toMatch(/us\.com, 2026-01-03: position 2\b/)
    expect(text).toContain('us.com, 2026-01-04: position 2, reused from an older answer')
    expect(text).toContain('fresh.com, 2026-01-01: not in the top 10')
    expect(text).toContain('2026-01-02: asked, but not answered')
  })

  test('shows a day without an answer as a gap in the line, not as a position', async () => {
    const text = await scene.markup(`/queries/${boots}?${days}`)
    const line = /<title>us\.com<\/title\s*><path d="([^"]*)"/.exec(text)?.[1] ?? ''
    expect(line.match(/M/g)).toHaveLength(2)
    expect(wordsOf(text)).not.toContain('us.com, 2026-01-02')
  })

  test('shows a requested domain first, however it is spelled', async () => {
    const text = await scene.markup(`/queries/${boots}?${days}&domain=WWW.R3.com`)
    expect(/class="legend">[\s\S]*?<a href="([^"]*)"/.exec(text)?.[1]).toContain('/domains/r3.com')
    expect(wordsOf(text)).toMatch(/r3\.com, 2026-01-03: position 3/)
  })

  test('shows list values, variants and entities with their links', async () => {
    const text = await scene.markup(`/queries/${boots}?since=2026-01-01&until=2026-01-01`)
    expect(text).toContain(`href="/queries/${scene.story.idOf('boots @m')}"`)
    expect(text).toMatch(/href="\/lists\/\d+"/)
    expect(wordsOf(text)).toContain('thing Leather')
  })

  test('reads a part of ten years, and says so', async () => {
    const text = await scene.view(`/queries/${boots}?since=2016-01-01&until=2026-01-04`)
    expect(text).toContain('the maximum for one page')
    expect(text).toContain('rank of us.com 2')
  })

  test('refuses an invalid or unknown id, and impossible days', async () => {
    const none = '00000000-0000-0000-0000-000000000000'
    expect((await scene.desk.get('/queries/nonsense')).status).toBe(404)
    expect((await scene.desk.get(`/queries/${none}`)).status).toBe(404)
    expect((await scene.desk.get(`/queries/${none}/nights/2026-01-01`)).status).toBe(404)
    expect((await scene.desk.get(`/queries/${boots}?since=2026-02-30`)).status).toBe(400)
    expect(
      (await scene.desk.get(`/queries/${boots}?since=2026-02-02&until=2026-02-01`)).status,
    ).toBe(400)
    expect((await scene.desk.get(`/queries/${boots}/nights/2026-13-01`)).status).toBe(400)
    expect((await scene.desk.get(`/queries/${boots}/nights/2026-01-01?beside=x`)).status).toBe(400)
  })
})

describe('nights of a query', () => {
  test('two nights side by side show what entered, left, moved and changed its title', async () => {
    const text = await scene.view(`/queries/${boots}/nights/2026-01-03?beside=2026-01-01`)
    // us.com rose from 4 to 2; r2 and r9 left; r4 and fresh.com entered; r1 has a new title.
    const tiles = [...text.matchAll(/(entered|left|moved|retitled) (\d+)/g)].map(([, name, n]) => [
      name,
      n,
    ])
    expect(Object.fromEntries(tiles)).toEqual({
      entered: '2',
      left: '2',
      moved: '1',
      retitled: '1',
    })
    expect(text).toContain('retitled , previously: Old 0')
  })

  test('the same two nights are equal whichever is named first', async () => {
    const one = await scene.markup(`/queries/${boots}/nights/2026-01-03?beside=2026-01-01`)
    const other = await scene.markup(`/queries/${boots}/nights/2026-01-01?beside=2026-01-03`)
    const table = (text: string) => /<section id="beside">[\s\S]*?<\/table>/.exec(text)?.[0]
    expect(table(one)).toBe(table(other))
    expect(table(one)).toContain('Renamed')
  })

  test('a page below the depth of the other answer is neither new nor gone', async () => {
    await scene.story.night('2026-02-01', { socks: ten('s') })
    await scene.story.night('2026-02-02', { socks: ten('s').slice(0, 3) })
    const text = wordsOf(
      await scene.view(`/queries/${scene.story.idOf('socks')}/nights/2026-02-02?beside=2026-02-01`),
    )
    expect(text).toMatch(/left 0/)
    expect(text).toContain('below the depth of the later answer')
  })

  test('a night that reused an answer says so', async () => {
    expect(await scene.view(`/queries/${boots}/nights/2026-01-04`)).toContain(
      'an older answer was reused',
    )
  })

  test('a night without an answer names its neighbours', async () => {
    const text = await scene.view(`/queries/${boots}/nights/2026-01-02`)
    expect(text).toContain('The nearest answers are from 2026-01-01 and 2026-01-03')
  })

  test('the stored body is served byte for byte, as a file and under no other query', async () => {
    const text = await scene.markup(`/queries/${boots}/nights/2026-01-03`)
    expect(text).toContain(`/queries/${boots}/bodies/${call}`)
    const file = await scene.desk.get(`/queries/${boots}/bodies/${call}`)
    expect(Buffer.from(file.text)).toEqual(body)
    expect(file.headers['content-disposition']).toMatch(/^attachment/)
    expect(file.headers['content-security-policy']).toContain('sandbox')
    expect(
      (await scene.desk.get(`/queries/${scene.story.idOf('socks')}/bodies/${call}`)).status,
    ).toBe(404)
    expect((await scene.desk.get(`/queries/${boots}/bodies/999999`)).status).toBe(404)
  })
})

describe('hostile texts', () => {
  test('titles, snippets, labels and notes are text on every page, and script addresses are not links', async () => {
    const odd = scene.story.idOf(hostile)
    await scene.pool.query('update organic_results set snippet = $1 where title = $1', [hostile])
    for (const path of [
      '/keywords',
      `/keywords?word=${encodeURIComponent(hostile)}`,
      `/queries/${odd}?since=2026-01-01&until=2026-01-04`,
      `/queries/${odd}?domain=${encodeURIComponent(hostile)}`,
      `/queries/${odd}/nights/2026-01-01`,
      `/queries/${odd}/nights/2026-01-01?beside=2026-01-01`,
      `/queries/${boots}?since=2026-01-01&until=2026-01-04`,
      `/queries/${boots}/nights/2026-01-01?beside=2026-01-03`,
    ]) {
      const text = await scene.markup(path)
      expect(text, path).not.toContain('<script>alert')
      expect(text, path).not.toMatch(/href="\s*javascript:/i)
      expect(text, path).not.toMatch(/ on[a-z]+="/)
    }
    expect(await scene.markup(`/queries/${odd}/nights/2026-01-01`)).toContain(
      '&lt;script&gt;alert(1)',
    )
  })
})

describe('days of a query without an answer to show', () => {
  const silent = deskScene(async ({ story, pool }) => {
    for (const [day, found] of [
      ['2026-02-01', ten('s')],
      ['2026-02-02', ten('s')],
      ['2026-02-03', ten('s')],
      ['2026-02-04', 'failed'],
      ['2026-02-05', ten('s')],
    ] as const) {
      await story.night(day, { socks: found })
    }
    const at = (day: string) => `(select id from runs where run_date = '${day}')`
    await pool.query(`update runs set suspect = true where id = ${at('2026-02-02')}`)
    await pool.query(`
      update searches set parse_error = 'no JSON'
      where task_id = (select id from tasks where run_id = ${at('2026-02-03')})`)
    await pool.query(`update tasks set state = 'unaffordable' where run_id = ${at('2026-02-04')}`)
  })

  test('each show their reason', async () => {
    const page = `/queries/${silent.story.idOf('socks')}?since=2026-02-01&until=2026-02-05`
    const text = await silent.view(page)
    expect(text).toContain('2026-02-02: answered; left out because the night is suspect')
    expect(text).toContain('2026-02-03: answered, but not readable')
    expect(text).toContain('2026-02-04: not asked: the budget was used')
    expect(text).not.toContain('2026-02-01: a')
    expect(text).not.toContain('2026-02-05: a')
    expect(await silent.view(`${page}&suspects=show`)).not.toContain(
      'left out because the night is suspect',
    )
  })
})
