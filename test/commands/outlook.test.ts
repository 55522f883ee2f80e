import { expect, test } from 'vitest'
import { run } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'

test('the outlook of open work says what the next drain then pays, and changes nothing', async () => {
  const { api, mill } = await openScene({ api: { credits: 500, cost: 2 } })
  await mill.plan(queries(10))
  await mill.drain()
  await mill.plan(
    Array.from({ length: 30 }, (_, index) => `more ${index}`),
    { list: 'more' },
  )
  const { code, stdout } = await run('outlook', ['--json'], mill.env)
  expect(code).toBe(0)
  const { balance, steps } = JSON.parse(stdout)
  expect(balance).toBe(480)
  expect(steps).toMatchObject([{ kind: 'run', list: 'more', asked: 30, credits: 60, after: 420 }])
  await mill.drain()
  expect(api.books.balance).toBe(420)
})
