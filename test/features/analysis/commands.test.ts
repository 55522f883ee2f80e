import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withheld } from '../../../src/base/database/reader-role.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { dropReader, placed, Story, ten } from './story.ts'

describe('commands for analysts', () => {
  let database: FreshDatabase
  const home = temporaryFolder('analysts')
  const call = (command: string, ...args: string[]) =>
    run(command, args, { DATABASE_URL: database.url, MILL_HOME: home, INIT_CWD: home })

  beforeAll(async () => {
    database = await freshDatabase()
    const story = new Story(database.pool).says('shoes', { tags: ['brand'] })
    const at = { origin: 'sandbox' } as const
    await story.night('2026-01-01', { shoes: placed(ten('r'), 4, 'caniuse.com/=x') }, at)
    await story.night('2026-01-02', { shoes: placed(ten('r'), 4, '=taker.com/') }, at)
  })
  afterAll(async () => {
    await dropReader(database.pool)
    await database.close()
  })

  test('the library is listed without any argument', async () => {
    const { code, stdout } = await call('sql')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ranks +Where do domains rank for each query on a day/m)
  })

  test('a domain is ours once it was set, and a question is answered as JSON', async () => {
    expect((await call('migrate')).code).toBe(0)
    const set = await call('domains', 'set', 'www.caniuse.com', '--label', 'Can I use')
    expect(set.stdout).toBe('added  caniuse.com as Can I use, from the beginning\n')
    const { code, stdout } = await call(
      'sql',
      'ranks',
      '--days',
      '1',
      '--json',
      '--origins',
      'sandbox',
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ q: 'shoes', previous_page: 'caniuse.com/=x', previous_position: 4 }],
    })
  })

  test('an empty result because no answer is live suggests the flag that shows the others', async () => {
    const { code, stdout, stderr } = await call('sql', 'ranks', '--top', '5')
    expect(code).toBe(0)
    expect(stdout.trim()).toBe(
      'q  domain  previous_position  position  change  places  click_change  page  previous_page  taken_by  depth  previous_run_date  run_date  variant',
    )
    expect(stderr).toMatch(/--origins sandbox/)
  })

  test('a label that no query has is named if there is no row', async () => {
    const flags = ['--tag', 'brnd or brand', '--device', 'mobile', '--origins', 'sandbox']
    expect((await call('sql', 'volatility', '--show', 'nights', ...flags)).stderr).toMatch(
      /^no query has the tag "brnd", "device=mobile"; select distinct unnest\(labels\)/m,
    )
    expect(
      (await call('sql', 'volatility-nights', '--tag', 'brand', '--origins', 'sandbox')).stderr,
    ).toBe('')
  })

  test('rows of tables come without a hint about the origins of views', async () => {
    const asked = await call('sql', 'select id from searches order by id')
    expect(asked.stdout.trim().split('\n')).toHaveLength(3)
    expect(asked.stderr).toBe('')
    const written = await call('export', 'searches', '--to', 'searches.csv')
    expect(written.stderr).toBe(
      `wrote 2 rows of public.searches to ${join(home, 'searches.csv')} as csv\n`,
    )
    // A view with counts has a row, and is as empty as the others.
    const counted = await call('sql', 'select count(*) from analysis.results')
    expect(counted.stderr).toMatch(/--origins sandbox/)
  })

  test('internal tables are withheld, with a hint about what may be read', async () => {
    const message =
      /^error: expected analyst views or tables of answers.*got: accounts, an internal table of querymill that is neither shown nor exported; docs\/schema\.md lists/
    const written = await call('export', 'accounts', '--to', 'accounts.csv')
    expect(written.code).toBe(2)
    expect(written.stderr).toMatch(message)
    expect(readdirSync(home).filter((name) => name.startsWith('accounts'))).toEqual([])
    const asked = await call('sql', 'select * from accounts')
    expect(asked.code).toBe(2)
    expect(asked.stderr).toMatch(message)
    const help = (await call('export', '--help')).stdout
    expect(withheld.filter((name) => !help.includes(name))).toEqual([])
  })

  test('SQL that changes something exits with a usage error and changes nothing', async () => {
    const { code, stderr } = await call('sql', 'delete from tasks')
    expect(code).toBe(2)
    expect(stderr).toMatch(/only reads/)
    expect((await database.pool.query('select from tasks')).rowCount).toBe(2)
  })

  test('a view becomes a complete file, and an unknown name leaves none', async () => {
    const done = await call('export', 'results', '--to', 'r.csv', '--origins', 'sandbox')
    expect(done.code).toBe(0)
    const lines = readFileSync(join(home, 'r.csv'), 'utf8').trimEnd().split('\n')
    expect(lines[0]).toMatch(/^query_id,q,run_date,position,domain,url,/)
    expect(lines).toHaveLength(21)
    const wrong = await call('export', 'mover', '--to', 'w.csv')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/did you mean analysis.movers/)
    expect(() => readFileSync(join(home, 'w.csv'))).toThrow(/ENOENT/)
  })

  test('rows are exported by day, by label, by condition, and as the answer to a question', async () => {
    const lines = async (...args: string[]) => {
      const { code, stdout, stderr } = await call('export', ...args, '--to', '-')
      const rows = stdout.trimEnd().split('\n')
      const written = args.includes('ndjson') ? rows.length : rows.length - 1
      const format = args.includes('ndjson') ? 'ndjson' : 'csv'
      const said = new RegExp(`^wrote ${written} rows? of [\\w. ]+ as ${format}\\n$`)
      expect([code, stderr]).toEqual([0, expect.stringMatching(said)])
      return rows
    }
    const shown = ['--origins', 'sandbox'] as const
    expect(await lines('results', ...shown, '--since', '2026-01-02')).toHaveLength(11)
    expect(await lines('results', ...shown, '--until', '2026-01-01')).toHaveLength(11)
    expect(await lines('results', ...shown, '--tag', 'not brand')).toHaveLength(1)
    const found = await lines('results', ...shown, '--where', 'position = 4 -- of ten', '--bom')
    expect(found[0]).toMatch(/^\ufeffquery_id,/)
    expect(found).toHaveLength(3)
    const between = ['--between', '2026-01-01..2026-01-02'] as const
    const asked = await lines('--question', 'domains', ...between, ...shown, '--top', '1')
    expect(asked).toEqual([expect.stringMatching(/^domain,click_change,/), expect.any(String)])
    const json = await lines('--question', 'select 1.50 as n', '--format', 'ndjson')
    expect(json).toEqual(['{"n":1.50}'])
  })

  test('invalid arguments of an export are refused with the valid ones', async () => {
    for (const [args, message] of [
      [['movers', '--rows', '3'], /expected --where, --list, .* after movers, got --rows/],
      [['own_domains', '--since', '2026-01-01'], /which has none; omit these flags/],
      [['movers', '--bom', '--format', 'parquet'], /expected --bom with --format csv, got parquet/],
      [['--question', 'domains', '--where', 'true'], /got --where with --question/],
      [['movers', '--format', 'xml'], /--format/],
    ] as const) {
      const { code, stderr } = await call('export', ...args, '--to', 'no.file')
      expect(stderr).toMatch(message)
      expect(code).toBe(2)
    }
    expect(readdirSync(home).filter((name) => name.startsWith('no.file'))).toEqual([])
  })

  test('a Parquet file begins and ends as one, and contains every row', async () => {
    const flags = ['--format', 'parquet', '--origins', 'sandbox'] as const
    expect((await call('export', 'results', '--to', 'r.parquet', ...flags)).code).toBe(0)
    const file = await asyncBufferFromFile(join(home, 'r.parquet'))
    const rows = await parquetReadObjects({ file, columns: ['run_date', 'position', 'domain'] })
    expect(rows).toHaveLength(20)
    expect(rows).toContainEqual({
      run_date: new Date('2026-01-01'),
      position: 4n,
      domain: 'caniuse.com',
    })
  })

  test('the report is written to the caller’s folder', async () => {
    const { code } = await call('report', '--to', 'page.html', '--origins', 'sandbox')
    expect(code).toBe(0)
    expect(readFileSync(join(home, 'page.html'), 'utf8')).toMatch(/<!doctype html>.*Not live/s)
  })

  test('a link stays a link, and a folder or a pipe is refused', async () => {
    mkdirSync(join(home, 'deep'))
    symlinkSync('deep/page.html', join(home, 'link'))
    expect((await call('report', '--to', 'link')).code).toBe(0)
    expect(lstatSync(join(home, 'link')).isSymbolicLink()).toBe(true)
    expect(readdirSync(join(home, 'deep'))).toEqual(['page.html'])
    execFileSync('mkfifo', [join(home, 'pipe')])
    for (const args of [['report'], ['export', 'searches']] as const) {
      for (const [to, got] of [
        ['deep', 'a folder; name a file in it'],
        ['pipe', 'a pipe, a socket or a device; choose a file'],
      ] as const) {
        const { code, stderr } = await call(args[0], ...args.slice(1), '--to', to)
        expect(code).toBe(2)
        expect(stderr).toBe(`error: expected ${to} to be a writable file, got ${got}\n`)
      }
    }
    expect(lstatSync(join(home, 'pipe')).isFIFO()).toBe(true)
  })

  test('a time limit beyond the database’s maximum is refused before the query runs', async () => {
    const { code, stderr } = await call('sql', 'select 1', '--timeout', '30d')
    expect(code).toBe(2)
    expect(stderr).toBe(
      'error: expected --timeout to be a duration like 90s, at most 24d, got 30d\n',
    )
    expect((await call('sql', 'select 1', '--timeout', '24d')).code).toBe(0)
  })

  test('a report of nine domains is refused before anything is written', async () => {
    const { code, stderr } = await call(
      'report',
      '--to',
      'nine.html',
      '--domains',
      'a,b,www.c,d,e,f,g,h,i',
    )
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: expected --domains to name at most 8 domains, got 9; /)
    expect(readdirSync(home)).not.toContain('nine.html')
    // Two identical ones count as one.
    const eight = await call('report', '--to', 'eight.html', '--domains', 'a,b,www.c,d,e,f,g,h,c')
    expect(eight.code).toBe(0)
  })

  test('a report is restricted by the flags of the library, and names a label that no query has', async () => {
    const page = async (...flags: string[]) => {
      const called = await call('report', '--to', 'part.html', '--origins', 'sandbox', ...flags)
      expect(called.code, called.stderr).toBe(0)
      return { ...called, text: readFileSync(join(home, 'part.html'), 'utf8') }
    }
    const wrong = await page('--tag', 'brnd', '--tag', 'brand')
    expect(wrong.stderr).toMatch(/^no query has the tag "brnd"; select distinct unnest\(labels\)/m)
    expect(wrong.text).toMatch(/label brnd.*label brand/s)
    const right = await page(
      '--tag',
      'brand',
      '--list',
      'main',
      '--between',
      '2026-01-01,2026-01-01',
    )
    expect(right.stderr).not.toMatch(/no query/)
    expect(right.text).toMatch(/list main.*label brand/s)
    expect(right.text).toMatch(/covers\s+2026-01-01 to\s+2026-01-01/)
    expect((await page('--tag', '*')).text).not.toContain('Limited to some queries')
    const refused = await call('report', '--to', 'part.html', '--since', 'monday')
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.stderr).toMatch(/expected --since to be a date like 2026-11-01, got "monday"/)
  })

  test('an analyst is created with an address that is shown once', async () => {
    const name = `ada_${process.pid}_${Date.now().toString(36)}`
    const first = await call('migrate', '--analyst', name)
    expect(first.stdout).toMatch(new RegExp(`postgres(ql)?://${name}:[\\w-]{24}@`))
    const second = await call('migrate', '--analyst', name, '--json')
    expect(JSON.parse(second.stdout)).toMatchObject({ analyst: { name, password: null } })
    // Commands that read work with the analyst's login, too.
    const address = /postgres\S+/.exec(first.stdout)?.[0] ?? ''
    const own = { DATABASE_URL: address, MILL_HOME: home }
    const asked = await run('sql', ['ranks', '--days', '1', '--json', '--origins', 'sandbox'], own)
    expect(asked.stderr).toBe('')
    expect(JSON.parse(asked.stdout)).toMatchObject({ rows: [{ q: 'shoes' }] })
    // It finds views without their schema; the message about missing rows shows this.
    expect((await run('sql', ['select q from results'], own)).stderr).toMatch(/--origins sandbox/)
    await database.pool.query(`drop role ${name}`)
  })
})
