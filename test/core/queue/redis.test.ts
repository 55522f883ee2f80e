// @module-tag slow
// Redis from Debian: with TLS and a user with few permissions, with a sentinel, and as a cluster of three.
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openRedis } from '../../../src/core/queue/bullmq.ts'
import { has } from '../../support/parts.ts'
import {
  startCluster,
  startGuarded,
  startGuardedWatched,
  startWatched,
} from '../../support/redis-fleet.ts'
import { runProcess as run, start } from '../../support/run.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'

const hasRedis = has('redis-server')
const hasSentinel = has('redis-sentinel')
const hasCertificates = has('openssl')

const openSceneOn = (REDIS_URL: string, options: Parameters<typeof openScene>[0] = {}) =>
  openScene({ ...options, settings: { REDIS_URL, ...options.settings } })

async function expectEachBoughtOnce({ api, mill }: Scene, count: number): Promise<void> {
  expect(await mill.states()).toEqual({ answered: count })
  expect(api.charges().map(({ q }) => q)).toHaveLength(count)
  expect(new Set(api.charges().map(({ q }) => q)).size).toBe(count)
  const { code, stdout } = await run('verify', [], mill.env)
  expect([code, stdout]).toEqual([0, expect.any(String)])
}

describe.skipIf(!hasRedis || !hasCertificates)('a Redis with TLS and a restricted user', () => {
  test('runs a night for a client that trusts its certificate and knows the password', async () => {
    const redis = await startGuarded()
    onTestFinished(redis.close)
    const scene = await openScene()
    const env = { ...scene.mill.env, REDIS_URL: redis.url, NODE_EXTRA_CA_CERTS: redis.certificate }
    await scene.mill.plan(queries(30))
    // The jobs are in another queue, so the worker finds the open slices in the tables.
    expect(await run('work', ['--drain'], env)).toMatchObject({ code: 0 })
    await expectEachBoughtOnce(scene, 30)
  })

  test('rejects other clients with its own error', async () => {
    const redis = await startGuarded()
    onTestFinished(redis.close)
    await expect(openRedis(redis.url)).rejects.toThrow(/REDIS_URL, got self-signed certificate/)
    await expect(openRedis(redis.plainUrl)).rejects.toThrow(/REDIS_URL, got WRONGPASS/)
  })
})

describe.skipIf(!hasRedis || !hasSentinel)('a Redis with a sentinel', () => {
  test('may lose its master during a run: the replica takes over, nothing is lost and nothing bought twice', async () => {
    const redis = await startWatched()
    onTestFinished(redis.close)
    const scene = await openSceneOn(redis.url, { api: { delayMs: 80 } })
    const { api, mill } = scene
    await mill.plan(queries(250))
    const drained = mill.drain()
    await expect.poll(() => api.charges().length).toBeGreaterThan(20)
    await redis.master.kill()
    expect(await drained).toMatchObject({ finish: 'completed', answered: 250 })
    expect(await roleOf(redis.copy.port)).toBe('master')
    await expectEachBoughtOnce(scene, 250)
  })
})

describe.skipIf(!hasRedis || !hasSentinel || !hasCertificates)(
  'sentinels and servers with TLS and passwords',
  () => {
    test('move a worker to the replica when the master dies: nothing is lost and nothing bought twice', async () => {
      const redis = await startGuardedWatched()
      onTestFinished(redis.close)
      const scene = await openScene({ api: { delayMs: 80 } })
      const { api, mill } = scene
      await mill.plan(queries(250))
      const trusting = { REDIS_URL: redis.url, NODE_EXTRA_CA_CERTS: redis.certificate }
      const working = start('work', ['--drain', '--json'], { ...mill.env, ...trusting })
      await expect.poll(() => api.charges().length).toBeGreaterThan(20)
      await redis.master.kill()
      const { code, stdout } = await working.ended
      expect(code).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({ finish: 'completed', answered: 250 })
      const copy = redis.asCopy()
      expect((await copy.role())[0]).toBe('master')
      copy.disconnect()
      await expectEachBoughtOnce(scene, 250)
    })

    test('reject clients without a sentinel password with their own error', async () => {
      const redis = await startGuardedWatched()
      onTestFinished(redis.close)
      const { mill } = await openScene()
      const trusting = { REDIS_URL: redis.silentUrl, NODE_EXTRA_CA_CERTS: redis.certificate }
      const { code, stderr } = await run('work', ['--drain'], { ...mill.env, ...trusting })
      expect([code, stderr]).toEqual([5, expect.stringContaining('REDIS_URL, got NOAUTH')])
    })
  },
)

describe.skipIf(!hasRedis)('a Redis cluster', () => {
  test('runs a night, with every key of the queue in one slot', async () => {
    const cluster = await startCluster()
    onTestFinished(cluster.close)
    const scene = await openSceneOn(cluster.url)
    await scene.mill.plan(queries(60))
    expect(await scene.mill.drain()).toMatchObject({ finish: 'completed', answered: 60 })
    const held = await Promise.all(cluster.servers.map(({ port }) => countKeys(port)))
    expect(held.filter((count) => count > 0)).toHaveLength(1)
    await expectEachBoughtOnce(scene, 60)
  })

  test('is refused if one of its servers may drop keys', async () => {
    const cluster = await startCluster()
    onTestFinished(cluster.close)
    const client = new Redis(cluster.servers[2]?.port ?? 0)
    await client.config('SET', 'maxmemory', '100mb')
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    client.disconnect()
    await expect(openRedis(cluster.url)).rejects.toThrow(/never evicts keys, got .* allkeys-lru/)
  })
})

async function countKeys(port: number): Promise<number> {
  const client = new Redis(port)
  const keys = await client.dbsize()
  client.disconnect()
  return keys
}

async function roleOf(port: number): Promise<unknown> {
  const client = new Redis(port)
  const [role] = await client.role()
  client.disconnect()
  return role
}
