// What `npm run work` says last, as far as a person has to act on it, and its exit codes.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { exitOf, type Finish } from '../../../src/core/worker/summary.ts'
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

describe('the exit code of a worker', () => {
  const sums = { run_failures: 0 }
  const going = new AbortController().signal

  test.each<[Finish, number]>([
    ['completed', 0],
    ['credit_floor', 3],
    ['budget', 3],
    ['auth', 4],
    ['stalled', 5],
    ['unreachable', 5],
    ['interrupted', 0],
  ])('after %s is %i', (finish, code) => {
    expect(exitOf({ ...sums, finish }, going)).toBe(code)
  })

  test('is 1 when all is done and a task of its runs is not well', () => {
    expect(exitOf({ finish: 'completed', run_failures: 1 }, going)).toBe(1)
  })

  test('is 1 for a failure that another worker had in the same run, and says so', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(3))
    await sql`
      update tasks set state = 'failed', error_code = 'TIMEOUT', finished_at = now()
      where id = (select min(id) from tasks)`.execute(mill.db)
    const ended = await run('work', ['--drain'], mill.env)
    expect(ended.stderr).toContain('2 answered, 0 reused, 0 failed, 0 unknown; 1 more of its runs')
    expect(ended.code).toBe(1)
  })

  test('after Ctrl-C is 130', () => {
    expect(exitOf({ ...sums, finish: 'interrupted' }, AbortSignal.abort('SIGINT'))).toBe(130)
    expect(exitOf({ ...sums, finish: 'interrupted' }, AbortSignal.abort('SIGTERM'))).toBe(0)
  })
})
