// @module-tag slow
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { stockedUrl } from '../support/database.ts'
import { run, start, type Running } from '../support/run.ts'
import { get } from './get.ts'

let env: Record<string, string>

beforeAll(async () => {
  env = { DATABASE_URL: await stockedUrl(), MILL_HOME: mkdtempSync(join(tmpdir(), 'home-')) }
})

interface Ready {
  readonly url: string
}

async function ready(service: Running): Promise<Ready> {
  return JSON.parse(await service.line('{"url"')) as Ready
}

async function makeKey(...flags: string[]): Promise<{ id: number; key: string; credits: number }> {
  const { stdout } = await run('keys', ['create', ...flags, '--json'], env)
  return JSON.parse(stdout) as { id: number; key: string; credits: number }
}

describe('the service command', () => {
  test('prints its address in one line on stdout, answers, and exits with 0 on request', async () => {
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

  test('on a port that is in use exits with 5 and one line', async () => {
    const first = start('service', ['--upstream', 'mock'], env)
    const { url } = await ready(first)
    const second = await run('service', ['--upstream', 'mock', '--port', new URL(url).port], env)
    first.kill('SIGTERM')
    await first.ended
    expect(second.code).toBe(5)
    expect(second.stderr).toMatch(/^error: cannot listen on port \d+ on 127\.0\.0\.1: EADDRINUSE; /)
    expect(second.stderr.trim().split('\n')).toHaveLength(1)
  })

  test('with wrong flags exits with 2 and names the valid ones', async () => {
    const wrong = [
      ['--upstream', 'google'],
      ['--port', '70000'],
      ['--log', 'everything'],
    ]
    for (const flags of wrong) {
      const { code, stderr } = await run('service', flags, env)
      expect([flags[0], code]).toEqual([flags[0], 2])
      expect(stderr).toMatch(/expected/)
    }
  })

  test.each(['0.0.0.0', '::'])(
    'on every address (%s) requires its public address, because errors name it',
    async (host) => {
      const { code, stderr } = await run('service', ['--host', host], env)
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: SERVICE_PUBLIC_URL is not set.*--public-url/m)
    },
  )

  test('on an address of another machine names --host', async () => {
    const { code, stderr } = await run('service', ['--host', '999.1.1.1'], env)
    expect(code).toBe(5)
    expect(stderr).toMatch(
      /^error: cannot listen on port 0 on 999\.1\.1\.1: \w+; choose another port or address with --port or --host$/m,
    )
  })
})
