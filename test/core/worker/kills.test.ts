// SIGKILL while a worker buys: a crash costs only the calls in flight, with any number of lanes. The twenty kills with the
// queue on Redis are in a file of their own, so that both run at the same time.
import { expect, test } from 'vitest'
import { backends } from '../../support/redis.ts'
import { queries } from '../../support/scene.ts'
import { expectNothingLost, killOne, killTwenty, openKillScene } from './killing.ts'

test('a killed worker of 17 lanes loses no received answer, and no more is bought twice than was in flight', async () => {
  const scene = await openKillScene(30)
  await scene.mill.plan(queries(150))
  const inFlight = await killOne(scene, 17, 40)
  expect(inFlight).toBeLessThanOrEqual(17)
  await expectNothingLost(scene, 180, inFlight)
})

test.each(backends.filter(({ name }) => name === 'postgres'))(
  'twenty kills of workers with 8, 17, 64 and 200 lanes lose no received answer, and no more is bought twice than was in flight, with the queue on $name',
  { tags: ['slow'] },
  async (backend) => {
    const scene = await openKillScene(100, backend)
    await scene.mill.plan(queries(4_000))
    const inFlight = await killTwenty(scene)
    expect(inFlight).toBeGreaterThan(0)
    await expectNothingLost(scene, 4_030, inFlight)
  },
)
