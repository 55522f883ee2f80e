// @module-tag slow
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { run, start } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

/** A server on a port that responds like this. */
async function answering(status: number, text: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status).end(text))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => new Promise((done) => void server.close(() => done())))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/healthz`
}

describe('npm run health', () => {
  test('queries the worker of this host, and reports its death by the exit code', async () => {
    const { mill } = await openScene()
    const worker = start('work', [], { ...mill.env, MILL_METRICS_PORT: '0' })
    const [, port = ''] =
      /127\.0\.0\.1:(\d+)/.exec(await worker.line('health and metrics on')) ?? []
    const env = { ...mill.env, MILL_METRICS_PORT: port }
    expect(await run('health', [], env)).toMatchObject({ code: 0, stdout: 'ok\n' })
    // The process is alive before it is ready.
    await expect.poll(async () => (await run('health', ['--ready'], env)).code).toBe(0)
    const json = await run('health', ['--ready', '--json'], env)
    expect([json.code, JSON.parse(json.stdout)]).toEqual([
      0,
      { ok: true, asked: `http://127.0.0.1:${port}/readyz`, said: 'ok' },
    ])
    expect((await run('health', ['--tables'], env)).stdout).toBe(
      'the tables match this release; 1 live worker\n',
    )
    worker.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
    const dead = await run('health', [], env)
    expect([dead.code, dead.stdout]).toEqual([5, ''])
    expect(dead.stderr).toMatch(/^error: expected a response from http:\/\/127\.0\.0\.1:\d+\/livez/)
  })

  test('checks the tables if no process can be queried', async () => {
    const { mill } = await openScene()
    expect(await run('health', [], mill.env)).toMatchObject({
      code: 0,
      stdout: 'the tables match this release; 0 live workers\n',
    })
  })

  test('exits with 5 if the database is unreachable, and starts none', async () => {
    const away = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }
    expect((await run('health', [], away)).code).toBe(5)
    const { code, stderr } = await run('health', [], { MILL_HOME: '/nowhere/at/all' })
    expect([code, stderr]).toEqual([
      5,
      'error: expected a database, got none: DATABASE_URL is not set, and no PostgreSQL is running for this folder\n',
    ])
  })

  test('passes on the reply of an unhealthy process', async () => {
    const url = await answering(503, 'the database is away\n')
    const { code, stderr } = await run('health', ['--url', url])
    expect([code, stderr]).toEqual([
      5,
      `error: expected ${url} to report a healthy process, got 503: the database is away\n`,
    ])
    expect((await run('health', ['--url', await answering(200, 'fine')])).stdout).toBe('fine\n')
  })

  test.each([
    [['--url', 'localhost'], /--url to be an address/],
    [['--ready'], /MILL_METRICS_PORT with --ready/],
    [['--tables', '--ready'], /either --tables or --ready/],
  ])('refuses %j, and says what is expected', async (flags, said) => {
    const { code, stderr } = await run('health', flags)
    expect(code).toBe(2)
    expect(stderr).toMatch(said)
  })
})
