import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'
import { run } from '../support/run.ts'
import { temporaryFolder } from '../support/server.ts'
import { dropReader, placed, Story, ten } from './story.ts'

describe('commands for analysts', () => {
  let database: FreshDatabase
  const home = temporaryFolder('analysts')
  const call = (command: string, ...args: string[]) =>
    run(command, args, { DATABASE_URL: database.url, MILL_HOME: home, INIT_CWD: home })

  beforeAll(async () => {
    database = await freshDatabase()
    const story = new Story(database.pool)
    const at = { origin: 'sandbox' } as const
    await story.night('2026-01-01', { shoes: placed(ten('r'), 4, 'caniuse.com/=x') }, at)
    await story.night('2026-01-02', { shoes: placed(ten('r'), 4, '=taker.com/') }, at)
  })
  afterAll(async () => {
    await dropReader(database.pool)
    await database.close()
  })

  test('the library is listed without any question', async () => {
    const { code, stdout } = await call('sql')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^fell_out +Which of our pages fell out of the top ten/m)
  }, 120_000)

  test('our domains are read from their file, and a question is answered as JSON', async () => {
    expect((await call('migrate')).code).toBe(0)
    const { code, stdout } = await call('sql', 'fell_out', '--json', '--origins', 'sandbox')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [{ q: 'shoes', page: 'caniuse.com/=x', previous_position: 4 }],
    })
  }, 120_000)

  test('an answer that is empty because nothing is live says how to see the rest', async () => {
    const { code, stdout, stderr } = await call('sql', 'movers', '--rows', '5')
    expect(code).toBe(0)
    expect(stdout.trim()).toBe('q  domain  previous_position  position  delta  change  page')
    expect(stderr).toMatch(/--origins sandbox/)
  }, 120_000)

  test('SQL that changes something ends with a usage error and changes nothing', async () => {
    const { code, stderr } = await call('sql', 'delete from tasks')
    expect(code).toBe(2)
    expect(stderr).toMatch(/only reads/)
    expect((await database.pool.query('select from tasks')).rowCount).toBe(2)
  }, 120_000)

  test('a view becomes a whole file, and an unknown name leaves none', async () => {
    const done = await call('export', 'results', '--to', 'r.csv', '--origins', 'sandbox')
    expect(done.code).toBe(0)
    const lines = readFileSync(join(home, 'r.csv'), 'utf8').trimEnd().split('\n')
    expect(lines[0]).toMatch(/^query_id,q,run_date,position,domain,url,/)
    expect(lines).toHaveLength(21)
    const wrong = await call('export', 'mover', '--to', 'w.csv')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/perhaps analysis.movers/)
    expect(() => readFileSync(join(home, 'w.csv'))).toThrow(/ENOENT/)
  }, 120_000)

  test('the page of pictures is written where the caller stands', async () => {
    const { code } = await call('report', '--to', 'page.html', '--origins', 'sandbox')
    expect(code).toBe(0)
    expect(readFileSync(join(home, 'page.html'), 'utf8')).toMatch(/<!doctype html>.*Not live/s)
  }, 120_000)

  test('an analyst is made with an address that is shown once', async () => {
    const name = `ada_${process.pid}_${Date.now().toString(36)}`
    const first = await call('migrate', '--analyst', name)
    expect(first.stdout).toMatch(new RegExp(`postgres(ql)?://${name}:[\\w-]{24}@`))
    const second = await call('migrate', '--analyst', name, '--json')
    expect(JSON.parse(second.stdout)).toMatchObject({ analyst: { name, password: null } })
    // The login serves the commands that read, too.
    const address = /postgres\S+/.exec(first.stdout)?.[0] ?? ''
    const asked = await run('sql', ['fell_out', '--json', '--origins', 'sandbox'], {
      DATABASE_URL: address,
      MILL_HOME: home,
    })
    expect(asked.stderr).toMatch(/reading as that user/)
    expect(JSON.parse(asked.stdout)).toMatchObject({ rows: [{ q: 'shoes' }] })
    await database.pool.query(`drop role ${name}`)
  }, 120_000)
})
