// @module-tag slow
import { request } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { readQuestions } from '../../../src/features/analysis/library.ts'
import { dropReader, placed, ten } from '../../features/analysis/story.ts'
import { freshDatabase } from '../../support/database.ts'
import { openDesk } from '../../support/desk.ts'
import { patienceMs } from '../../support/patience.ts'
import { deskScene, wordsOf } from '../scene.ts'

const hostile = '<script>alert(1)</script>'

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  await story.night('2026-01-01', { boots: placed(ten('r'), 4, 'us.com/1') })
  await story.night('2026-01-02', { boots: placed(ten('r'), 2, 'us.com/1') })
})

const get = async (path: string) => {
  const { status, text } = await scene.desk.get(path)
  expect(text, path).not.toContain('<script>alert')
  return { status, text, words: wordsOf(text) }
}
const sql = (text: string, more = '') => `/sql?text=${encodeURIComponent(text)}${more}`

/** Sends a query that runs longer than the test, and returns its request. */
function askForLong() {
  const path = sql('select pg_sleep(55)', '&seconds=60')
  const sent = request({ host: '127.0.0.1', port: scene.desk.port, path })
  sent.on('error', () => undefined)
  sent.end()
  return sent
}

/** Statements that the read-only role is running now. */
const running = async (part: string) => {
  const { rows } = await scene.pool.query<{ pid: number }>(
    "select pid from pg_stat_activity where datname = current_database() and state = 'active' and pid <> pg_backend_pid() and query like $1",
    [`%${part}%`],
  )
  return rows.length
}

describe('the library', () => {
  test('has a form for every question, and the SQL behind it to copy', async () => {
    const { text } = await get('/ask')
    for (const { name } of readQuestions()) expect(text).toContain(`href="/ask/${name}"`)
    const form = await get('/ask/keyword-history')
    expect(form.text).toMatch(/name="q"[^>]*required/)
    expect(form.words).toContain('npm run sql -- keyword-history')
    expect(form.words).toContain('from queries')
  })

  test('shows an answer with the rows of the tables, a chart over its days and a file', async () => {
    const path = '/ask/keyword-history?go=1&q=boots'
    const { text, words } = await get(path)
    expect(words).toContain('2026-01-01 us.com 4')
    expect(words).toContain('2026-01-02 us.com 2')
    expect(text).toMatch(/<svg[^>]*role="img"/)
    expect(text).toContain('href="/ask/keyword-history/rows.csv?q=boots"')
    const file = await scene.desk.get('/ask/keyword-history/rows.csv?q=boots')
    expect(file.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(file.text.split('\n').slice(0, 2)).toEqual([
      'run_date,domain,position,page,depth,evidence,variant',
      '2026-01-01,us.com,4,us.com/1,10,bought,""',
    ])
  })

  test.each(readQuestions().map(({ name, parameters }) => [name, parameters] as const))(
    '%s answers from its form',
    async (name, parameters) => {
      const told = parameters.filter(({ fallback }) => fallback === undefined)
      const values: Readonly<Record<string, string>> = {
        domain: 'us.com',
        rival: 'r1.com',
        page: 'us.com/1',
      }
      const query = told.map(
        (parameter) => `&${parameter.name}=${values[parameter.name] ?? 'boots'}`,
      )
      const { status, words } = await get(`/ask/${name}?go=1${query.join('')}`)
      expect(status).toBe(200)
      expect(words).toMatch(/Answer (?:1 row|(?!1 )\d+ rows) in/)
    },
  )

  test('restricts a question by the flags of the form, and shows them in the command', async () => {
    const { words } = await get('/ask/keyword-history?go=1&q=boots&since=2026-01-02&list=main')
    expect(words).toContain(
      'npm run sql -- keyword-history --q boots --list main --since 2026-01-02',
    )
    expect(words).not.toContain('2026-01-01 us.com 4')
  })

  test('refuses an unknown question, an invalid day and an invalid value', async () => {
    expect((await get('/ask/nonsense')).status).toBe(404)
    expect((await get(`/ask/${encodeURIComponent(hostile)}`)).status).toBe(404)
    expect((await get('/ask/ranks?go=1&day=2026-02-30')).status).toBe(400)
    expect((await get('/ask/keyword-history?go=1&q=boots&since=yesterday')).status).toBe(400)
    const { words } = await get(`/ask/ranks?go=1&top=${encodeURIComponent(hostile)}`)
    expect(words).toContain('the database cannot answer this question')
    expect((await get('/ask/keyword-history?go=1')).words).toContain('Press Ask')
  })
})

describe('SQL from visitors', () => {
  test('is answered with escaped cells, and its statement can be edited and run again', async () => {
    const { words, text } = await get(sql(`select '${hostile}' as a, 1 as b`))
    expect(words).toContain('&lt;script&gt;alert(1)')
    expect(text).toContain('href="/sql/rows.csv?text=select')
    const file = await scene.desk.get(
      sql('select 1 as a, null as b').replace('/sql', '/sql/rows.csv'),
    )
    expect(file.text).toBe('a,b\n1,\n')
  })

  test.each([
    'delete from tasks',
    'select 1; delete from tasks',
    'with gone as (delete from tasks returning *) select * from gone',
    'explain analyze delete from tasks',
    'select * from accounts',
    "select pg_read_file('/etc/hostname')",
    "copy (select 1) to program 'true'",
    "select set_config('role', 'none', true), query_to_xml('select * from accounts', true, true, '')",
    `select "set_config"('statement_timeout', '0', true)`,
    String.raw`select u&"set\005fconfig"('role', 'none', true)`,
    "select query_to_xml('sel' || 'ect 1', true, true, '')",
    'select pg_advisory_lock(1)',
    'select pg_try_advisory_lock(1)',
    "select ts_stat('select 1')",
    'select * from scratch.anything',
    "update pg_settings set setting = '0' where name = 'statement_timeout'",
    'select * from nowhere',
    hostile,
  ])('that does more than read is refused, and changes nothing: %s', async (text) => {
    const { status, words } = await get(sql(text))
    expect(status).toBe(200)
    expect(words).toMatch(
      /expected (read-only SQL|a question|analyst views)|the database cannot answer this question/,
    )
    expect(words).not.toMatch(/Answer \d/)
    const { status: filed } = await scene.desk.get(sql(text).replace('/sql', '/sql/rows.csv'))
    expect(filed).toBe(400)
    const { rows } = await scene.pool.query('select count(*) as tasks from tasks')
    expect(rows).toEqual([{ tasks: 2 }])
  })

  test('with a million rows shows as many as requested', async () => {
    const { words, text } = await get(
      sql('select * from generate_series(1, 1000000) as n', '&rows=50'),
    )
    expect(words).toContain('the first 50 rows')
    expect(text.match(/<tr>/g)).toHaveLength(51)
    expect((await get(sql('select 1', '&rows=1000000'))).status).toBe(400)
  })

  test('with a cell of megabytes shows its beginning', async () => {
    const { text } = await get(
      sql("select repeat('x', 50000000) as a, repeat('y', 9) as b from generate_series(1, 3)"),
    )
    expect(text.length).toBeLessThan(50_000)
    expect(text).toContain('x…')
  })

  test('that runs forever is cancelled at its time limit, and says so', async () => {
    const begun = Date.now()
    const { words } = await get(sql('select pg_sleep(50)', '&seconds=1'))
    expect(words).toContain('within the time limit')
    expect(Date.now() - begun).toBeLessThan(20_000)
    expect((await get(sql('select 1', '&seconds=999'))).status).toBe(400)
  })

  test('is cancelled when its visitor leaves, and the connection serves the next one', async () => {
    const sent = askForLong()
    await vi.waitFor(async () => expect(await running('fetch')).toBe(1), { timeout: patienceMs })
    sent.destroy()
    await vi.waitFor(async () => expect(await running('fetch')).toBe(0), { timeout: patienceMs })
    for (let n = 0; n < 5; n++) expect((await get(sql('select 42 as n'))).words).toContain('42')
  })

  test('does not wait: of three concurrent ones, the third is refused', async () => {
    const long = [askForLong(), askForLong()]
    await vi.waitFor(async () => expect(await running('fetch')).toBe(2), { timeout: patienceMs })
    expect((await get(sql('select 1'))).words).toContain(
      '2 questions are running, which is the maximum',
    )
    for (const sent of long) sent.destroy()
    const next = async () => (await get(sql('select 1 as one'))).words
    await vi.waitFor(async () => expect(await next()).toMatch(/one 1/), { timeout: patienceMs })
  })

  test('needs the read-only role', async () => {
    const other = await freshDatabase()
    const bare = await openDesk(other.url)
    await dropReader(other.pool)
    const { text } = await bare.get(sql('select 1'))
    expect(text).toContain('this database has no read-only role')
    await bare.close()
    await other.close()
  })
})
