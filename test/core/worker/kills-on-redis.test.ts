// @module-tag slow
import { expect, test } from 'vitest'
import { backends } from '../../support/redis.ts'
import { queries } from '../../support/scene.ts'
import { expectNothingLost, killTwenty, openKillScene } from './killing.ts'

const redis = backends.filter(({ name }) => name === 'redis')

test.skipIf(redis.length === 0)(
  "twenty kills of workers with 8, 17, 64 and 200 lanes lose no received answer, and no more is bought twice than was in flight, with the queue on 'redis'",
  async () => {
    const [backend] = redis
    const scene = await openKillScene(100, backend)
    await scene.mill.plan(queries(4_000))
    const inFlight = await killTwenty(scene)
    expect(inFlight).toBeGreaterThan(0)
    await expectNothingLost(scene, 4_030, inFlight)
  },
)
