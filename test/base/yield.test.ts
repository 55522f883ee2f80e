import { expect, test } from 'vitest'
import { yieldInTurn } from '../../src/base/waiting.ts'

test('callers that yield continue in order, each in its own turn of the event loop', async () => {
  const seen: string[] = []
  let rounds = 0
  const count = () => {
    rounds += 1
    if (rounds < 10) setImmediate(count)
  }
  setImmediate(count)
  const take = async (name: string) => {
    await yieldInTurn()
    seen.push(`${name} in round ${rounds}`)
  }
  await Promise.all(['first', 'second', 'third'].map(take))
  expect(seen).toEqual(['first in round 1', 'second in round 2', 'third in round 3'])
})
