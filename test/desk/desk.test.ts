import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { run, start } from '../support/run.ts'

let database: FreshDatabase
let home: string
let env: Record<string, string>

beforeAll(async () => {
  database = await freshDatabase()
  home = mkdtempSync(join(tmpdir(), 'querymill-desk-'))
  env = {
    DATABASE_URL: database.url,
    MILL_HOME: home,
    SEARCH_API_URL: 'http://127.0.0.1:1',
    SEARCH_API_KEY: 'sk_test_sample',
  }
})
afterAll(async () => {
  await database.close()
  rmSync(home, { recursive: true, force: true })
})

describe('the command', () => {
  test('prints its address, serves it, shows no key, and ends with the signal', async () => {
    const desk = start('desk', ['--port', '0'], env)
    const line = await desk.line('the desk is at')
    const url = /http:\S+(?=;)/.exec(line)?.[0] ?? ''
    const answer = await fetch(url)
    expect(answer.status).toBe(200)
    expect(await answer.text()).not.toContain('sk_test')
    desk.kill('SIGTERM')
    expect((await desk.ended).code).toBe(0)
  })

  test('requires a password file for other machines, and a long password', async () => {
    const short = join(home, 'short')
    writeFileSync(short, 'secret\n')
    chmodSync(short, 0o600)
    for (const [args, told] of [
      [['--host', '0.0.0.0'], '--password-file'],
      [['--public-url', 'https://desk.example.com'], '--password-file'],
      [['--host', '0.0.0.0', '--password-file', short], 'at least 12 characters'],
      [['--password-file', join(home, 'none')], 'a path that does not exist'],
      [['--port', '65536'], '--port'],
    ] as const) {
      const { code, stderr } = await run('desk', args, env)
      expect([code, stderr.includes(told)], args.join(' ')).toEqual([2, true])
    }
  })

  test('starts while the database is unreachable, and says so', async () => {
    const desk = start('desk', ['--port', '0'], {
      ...env,
      DATABASE_URL: 'postgres://a@127.0.0.1:1/a',
    })
    const line = await desk.line('the desk is at')
    const answer = await fetch(/http:\S+(?=;)/.exec(line)?.[0] ?? '')
    expect(answer.status).toBe(503)
    expect(await answer.text()).toContain('The database is unreachable')
    desk.kill('SIGTERM')
    expect((await desk.ended).code).toBe(0)
  })
})
