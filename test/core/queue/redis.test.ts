// @module-tag slow
// Redis as Debian has it: with TLS and a user of few rights.
import { describe, expect, onTestFinished, test } from 'vitest'
import { openRedis } from '../../../src/core/queue/bullmq.ts'
import { has } from '../../support/parts.ts'
import { startGuarded } from '../../support/redis-guarded.ts'
import { runProcess as run } from '../../support/run.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'

const hasRedis = has('redis-server')
const hasCertificates = has('openssl')

async function expectEachBoughtOnce({ api, mill }: Scene, count: number): Promise<void> {
  expect(await mill.states()).toEqual({ answered: count })
  expect(api.charges().map(({ q }) => q)).toHaveLength(count)
  expect(new Set(api.charges().map(({ q }) => q)).size).toBe(count)
  const { code, stdout } = await run('verify', [], mill.env)
  expect([code, stdout]).toEqual([0, expect.any(String)])
}

describe.skipIf(!hasRedis || !hasCertificates)('a Redis with TLS and a user of few rights', () => {
  test('carries a night, for whoever trusts its certificate and knows the password', async () => {
    const redis = await startGuarded()
    onTestFinished(redis.close)
    const scene = await openScene()
    const env = { ...scene.mill.env, REDIS_URL: redis.url, NODE_EXTRA_CA_CERTS: redis.certificate }
    await scene.mill.plan(queries(30))
    // The jobs lie in another queue: the worker finds the open slices by itself.
    expect(await run('work', ['--drain'], env)).toMatchObject({ code: 0 })
    await expectEachBoughtOnce(scene, 30)
  })

  test('is refused with its own word by whoever does not', async () => {
    const redis = await startGuarded()
    onTestFinished(redis.close)
    await expect(openRedis(redis.url)).rejects.toThrow(/REDIS_URL, got self-signed certificate/)
    await expect(openRedis(redis.plainUrl)).rejects.toThrow(/REDIS_URL, got WRONGPASS/)
  })
})
