// @module-tag slow
// The last lines of `npm run work`, as far as a user has to act on them, and its exit codes.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { exitOf, type Finish } from '../../../src/core/worker/summary.ts'
import { backends } from '../../support/redis.ts'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

const budgets = [
  {
    whose: 'of a run',
    order: { budget: 3 },
    env: {},
    said: 'enqueue its list again with a larger --budget',
  },
  {
    whose: 'of the day',
    order: {},
    env: { MILL_DAILY_BUDGET: '3' },
    said: 'raise MILL_DAILY_BUDGET, or wait until tomorrow',
  },
]

test.each(budgets)(
  'a used-up budget $whose is named with what to do about it',
  async ({ order, env, said }) => {
    const { mill } = await openScene()
    await mill.plan(queries(30), order)
    const ended = await run('work', ['--drain'], { ...mill.env, ...env })
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain(said)
  },
)

describe('the exit code of a worker', () => {
  const sums = { run_failures: 0, waiting: null }
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

  test('is 1 if all is done and a task of its runs failed', () => {
    expect(exitOf({ ...sums, finish: 'completed', run_failures: 1 }, going)).toBe(1)
  })

  test.each(backends)(
    'is 1 if one of 200 queries is left and the API asked to try it in two hours, and names the query and the time, with the queue on $name',
    async (backend) => {
      const { api, mill } = await openScene({
        backend,
        settings: { MILL_STALL_MS: '1000' },
        api: {
          faults: [
            { kind: 'status', status: 503, match: 'query 77', times: 1, retryAfter: '7200' },
          ],
        },
      })
      await mill.plan(queries(200))
      const ended = await run('work', ['--drain', '--json'], mill.env)
      const { rows } = await sql<{ until: string }>`
        select to_char(not_before at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
        from tasks where state = 'open'`.execute(mill.db)
      const [{ until } = { until: '' }] = rows
      expect(ended.stderr).toContain(
        `asked querymill to wait until ${until} before retrying "query 77"`,
      )
      expect(JSON.parse(ended.stdout)).toMatchObject({
        finish: 'stalled',
        waiting: { tasks: 1, query: 'query 77', until },
      })
      expect(ended.code).toBe(1)
      expect(await mill.states()).toEqual({ answered: 199, open: 1 })
      expect(api.charges().filter(({ q }) => q === 'query 77')).toHaveLength(1)
    },
  )

  test('is 5 if the API asked for no call for two hours, and names the time', async () => {
    const { mill } = await openScene({
      settings: { MILL_STALL_MS: '1000' },
      api: { faults: [{ kind: 'rate', chance: 1, retryAfter: 'seconds', seconds: 7_200 }] },
    })
    await mill.plan(queries(3))
    const ended = await run('work', ['--drain'], mill.env)
    expect(ended.stderr).toMatch(
      /the API asked for a pause until \d{4}-.*Z; run the same command again later/,
    )
    expect(ended.code).toBe(5)
  })

  test('is 1 for a failure of another worker in the same run, and says so', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(3))
    await sql`
      update tasks set state = 'failed', error_code = 'TIMEOUT', finished_at = now()
      where id = (select min(id) from tasks)`.execute(mill.db)
    const ended = await run('work', ['--drain'], mill.env)
    expect(ended.stderr).toContain(
      '2 answered, 0 reused, 0 failed, 0 unknown; 1 other tasks in these runs',
    )
    expect(ended.code).toBe(1)
  })

  test('after Ctrl-C is 130', () => {
    expect(exitOf({ ...sums, finish: 'interrupted' }, AbortSignal.abort('SIGINT'))).toBe(130)
    expect(exitOf({ ...sums, finish: 'interrupted' }, AbortSignal.abort('SIGTERM'))).toBe(0)
  })
})
