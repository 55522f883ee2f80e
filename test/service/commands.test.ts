import { writeFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { freshUrl } from '../support/database.ts'
import { run, start, type Running } from '../support/run.ts'
import { get } from './get.ts'

let env: Record<string, string>

beforeAll(async () => {
  env = { DATABASE_URL: await freshUrl(), MILL_HOME: mkdtempSync(join(tmpdir(), 'home-')) }
})

interface Ready {
  readonly url: string
  readonly key?: string
  readonly admin?: string
}

async function ready(service: Running): Promise<Ready> {
  return JSON.parse(await service.line('{"url"')) as Ready
}

async function makeKey(...flags: string[]): Promise<{ id: number; key: string; credits: number }> {
  const { stdout } = await run('keys', ['create', ...flags, '--json'], env)
  return JSON.parse(stdout) as { id: number; key: string; credits: number }
}

describe('the service command', () => {
  test('says where it answers in one line on stdout, answers, and ends with 0 when asked to', async () => {
    const service = start('service', ['--port', '0', '--upstream', 'mock'], env)
    const { url } = await ready(service)
    const { key } = await makeKey('--kind', 'live', '--credits', '5', '--name', 'bundled')
    const answer = await get(`${url}/v1/search?q=tea`, { authorization: `Bearer ${key}` })
    expect(answer.status).toBe(200)
    expect((await get(`${url}/healthz`)).status).toBe(200)
    service.kill('SIGTERM')
    const { code, stdout, stderr } = await service.ended
    expect(code).toBe(0)
    expect(stdout).toBe(`${JSON.stringify({ url })}\n`)
    expect(stdout + stderr).not.toContain(key.slice(8))
  })

  test('on a port that is taken ends with 5 and one line', async () => {
    const first = start('service', ['--canned'], env)
    const { url } = await ready(first)
    const second = await run('service', ['--canned', '--port', new URL(url).port], env)
    first.kill('SIGTERM')
    await first.ended
    expect(second.code).toBe(5)
    expect(second.stderr).toMatch(/^error: expected port \d+ of 127\.0\.0\.1 to be free/)
    expect(second.stderr.trim().split('\n')).toHaveLength(1)
  })

  test('with wrong flags ends with 2 and says what there is', async () => {
    const wrong = [
      ['--upstream', 'google'],
      ['--today', 'yesterday'],
      ['--port', '70000'],
      ['--base-path', 'foo'],
      ['--base-path', '/a b'],
      ['--base-path', '//'],
      ['--faults', '{"nonsense":1}'],
      ['--faults', 'nowhere.json'],
    ]
    for (const flags of wrong) {
      const { code, stderr } = await run('service', flags, env)
      expect([flags[0], code]).toEqual([flags[0], 2])
      expect(stderr).toMatch(/expected/)
    }
  })

  test('on an address that is none of this machine names --host, not --port', async () => {
    const { code, stderr } = await run('service', ['--host', '999.1.1.1'], env)
    expect(code).toBe(5)
    expect(stderr).toMatch(
      /^error: expected 999\.1\.1\.1 to be an address of this machine, got \w+; choose another with --host$/m,
    )
  })

  test('under a path of its own says so in the address, without a slash at its end', async () => {
    const service = start('service', ['--upstream', 'mock', '--base-path', '/search-api/'], env)
    const { url } = await ready(service)
    expect(url).toMatch(/:\d+\/search-api$/)
    expect((await get(`${url}/healthz`)).status).toBe(200)
    service.kill('SIGTERM')
    await service.ended
  })

  test('refuses to let a stand-in listen beyond this machine', async () => {
    const { code, stderr } = await run('service', ['--faults', '{}', '--host', '0.0.0.0'], env)
    expect(code).toBe(2)
    expect(stderr).toContain('expected --host to be this machine')
  })

  test('reads faults from a file and shows the key and the port of the operator', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'faults-')), 'faults.json')
    writeFileSync(file, JSON.stringify({ credits: 3, faults: [{ kind: 'status', status: 503 }] }))
    const service = start('service', ['--faults', file], env)
    const { url, key, admin } = await ready(service)
    const answer = await get(`${url}/v1/search?q=tea`, { authorization: `Bearer ${key}` })
    expect(answer.status).toBe(503)
    expect(JSON.parse(String((await get(`${admin}/balance`)).body))).toEqual({
      balance: 3,
      least: 3,
      charged: 0,
    })
    service.kill('SIGTERM')
    await service.ended
  })
})

describe('the keys command', () => {
  test('creates, lists, revokes and shows usage', async () => {
    const issued = await makeKey('--kind', 'live', '--credits', '42')
    expect(issued).toMatchObject({ kind: 'live', credits: 42 })
    const list = await run('keys', ['list', '--json'], env)
    expect(list.stdout).toContain(`sk_live_…${issued.key.slice(-4)}`)
    expect(list.stdout).not.toContain(issued.key)
    const revoked = await run('keys', ['revoke', issued.key], env)
    expect([revoked.code, revoked.stdout]).toEqual([0, ''])
    const again = await run('keys', ['list'], env)
    expect(again.stdout).toMatch(/\trevoked/)
    const usage = JSON.parse((await run('keys', ['usage', '--json'], env)).stdout) as object
    expect(usage).toHaveProperty('usage')
  })

  test('refuses what it does not know, without repeating a key', async () => {
    const secret = 'sk_live_0000000000000000000000000000000000notakey'
    const wrong = [
      ['revoke', secret],
      ['revoke'],
      ['destroy'],
      ['list', secret],
      ['create', '--kind', 'x'],
    ]
    for (const args of wrong) {
      const { code, stderr } = await run('keys', args, env)
      expect(code).toBe(2)
      expect(stderr).not.toContain('notakey')
    }
  })

  test.each([
    ['--plan or --credits', '--kind live --plan pro --credits 5'],
    ['--kind live with --plan', '--plan pro'],
    ['--kind live with --credits', '--credits 5'],
    ['--kind live with --rate', '--kind test --rate 5'],
    ['--account or --credits', '--kind live --account 1 --credits 5'],
  ])('issues nothing for flags that do not go together, and asks for %s', async (wish, flags) => {
    const before = (await run('keys', ['list'], env)).stdout
    const { code, stdout, stderr } = await run('keys', ['create', ...flags.split(' ')], env)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`expected ${wish}, got`)
    expect((await run('keys', ['list'], env)).stdout).toBe(before)
  })
})

describe('the corpus command', () => {
  test('adds pages and says how many lines it left out', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'pages-')), 'pages.jsonl')
    writeFileSync(file, '{"url":"https://a.example/","title":"A"}\nnot a page\n')
    const { code, stdout, stderr } = await run('corpus', ['add', file, '--json'], env)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ added: 1, rejected: 1 })
    expect(stderr).toContain(`${file}:2: `)
  })

  test('names a file that is not there, and adds nothing of the others', async () => {
    await run('corpus', ['load'], env)
    const folder = mkdtempSync(join(tmpdir(), 'pages-'))
    writeFileSync(join(folder, 'pages.jsonl'), '{"url":"https://early.example/","title":"E"}\n')
    const there = { ...env, INIT_CWD: folder }
    const { code, stderr } = await run('corpus', ['add', 'pages.jsonl', 'missing.jsonl'], there)
    expect(stderr).toBe(
      'error: expected missing.jsonl to be a readable file, got nothing there; check the path\n',
    )
    expect(code).toBe(2)
    const pool = new pg.Pool({ connectionString: env['DATABASE_URL'], max: 1 })
    const { rows } = await pool.query(
      "select from service.documents where url = 'https://early.example/'",
    )
    await pool.end()
    expect(rows).toEqual([])
  })

  test('refuses to build without its packages', async () => {
    const { code, stderr } = await run('corpus', ['build'], env)
    expect(code).toBe(2)
    expect(stderr).toContain('web-features')
  })
})
