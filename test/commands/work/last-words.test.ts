// What `npm run work` says last, as far as a person has to act on it.
import { expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

const budgets = [
  {
    whose: 'of a run',
    order: { budget: 3 },
    env: {},
    said: 'enqueue its list again with a greater --budget',
  },
  {
    whose: 'of the day',
    order: {},
    env: { MILL_DAILY_BUDGET: '3' },
    said: 'raise MILL_DAILY_BUDGET, or wait for the next day',
  },
]

test.each(budgets)(
  'a budget $whose that is used up is named with what to do about it',
  async ({ order, env, said }) => {
    const { mill } = await openScene()
    await mill.plan(queries(30), order)
    const ended = await run('work', ['--drain'], { ...mill.env, ...env })
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain(said)
  },
)

test('nights without end in one process warn of no leak', async () => {
  const { mill } = await openScene()
  const warnings: string[] = []
  const heed = ({ name }: Error) => void warnings.push(name)
  process.on('warning', heed)
  for (let night = 1; night <= 12; night += 1) {
    await mill.plan([`night ${night}`])
    await mill.drain()
  }
  process.off('warning', heed)
  expect(warnings).toEqual([])
}, 90_000)
