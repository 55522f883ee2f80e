// @module-tag slow
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrateAll } from '../../src/core/mill.ts'
import { openDatabase, openPool, type Pool } from '../../src/base/database/database.ts'
import { ensureReader } from '../../src/base/database/reader-role.ts'
import { openCluster } from '../support/cluster.ts'
import { run, start } from '../support/run.ts'
import { testMill, type TestMill } from '../support/mill.ts'
import { startFaulty } from '../faults/api/standin.ts'
import { has } from '../support/parts.ts'
import { temporaryFolder } from '../support/place.ts'

const folder = temporaryFolder('replica')

describe.skipIf(!has('postgresql'))('a replica', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let mill: TestMill
  let pool: Pool
  let replica: string
  let api: Awaited<ReturnType<typeof startFaulty>>

  beforeAll(async () => {
    cluster = await openCluster(folder)
    const { url } = cluster.primary
    pool = openPool(url, { name: 'test', max: 8 })
    await migrateAll(pool, url)
    await ensureReader(pool)
    replica = (await cluster.addStandby()).url
    api = await startFaulty({ seed: 'replica', credits: 1_000, kind: 'live', cost: 1 })
    const database = { url, pool, db: openDatabase(pool), close: async () => undefined }
    mill = await testMill({ api, database, settings: { MILL_REPLICA_URL: replica } })
    await mill.plan(['tea', 'coffee', 'cocoa'])
    await mill.drain()
  })

  afterAll(async () => {
    await mill?.close()
    await api?.close()
    await pool?.end()
    await cluster?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const caughtUp = async () => {
    const there = openPool(replica, { name: 'test', max: 1 })
    try {
      const found = async () =>
        (await there.query<{ n: number }>('select count(*)::integer as n from searches')).rows[0]?.n
      await expect.poll(found).toBe(3)
    } finally {
      await there.end()
    }
  }

  /** The commands of analysts while the primary is down, so that their output can only come from the replica. */
  const away = () => ({ ...mill.env, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' })

  test('serves sql, export and report while the primary is down', async () => {
    await caughtUp()
    const asked = await run(
      'sql',
      ['select count(*) as n from searches', '--format', 'json'],
      away(),
    )
    expect([asked.code, JSON.parse(asked.stdout)]).toEqual([
      0,
      { columns: ['n'], rows: [{ n: 3 }] },
    ])
    const library = await run('sql', ['keyword-find', '--word', 'tea', '--format', 'json'], away())
    expect(library.code).toBe(0)
    const written = await run('export', ['searches', '--to', '-'], away())
    expect([written.code, written.stdout.trim().split('\n').length]).toEqual([0, 4])
    const page = join(folder, 'page.html')
    expect((await run('report', ['--to', page], away())).code).toBe(0)
    expect(readFileSync(page, 'utf8')).toContain('<h1')
  })

  test('serves the pages of the desk while the primary is down', async () => {
    await caughtUp()
    const desk = start('desk', ['--port', '0', '--json'], away())
    const [address = ''] =
      /http:\/\/127\.0\.0\.1:\d+/.exec(await desk.line('http://127.0.0.1')) ?? []
    const answer = await fetch(`${address}/lists`)
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('test')])
    desk.kill('SIGTERM')
    expect((await desk.ended).code).toBe(0)
  })

  test('is not used by commands that write or show the current state', async () => {
    const { code, stderr } = await run('status', [], away())
    expect([code, stderr]).toEqual([5, expect.stringContaining('127.0.0.1:1')])
    expect((await run('status', [], mill.env)).code).toBe(0)
  })
})
