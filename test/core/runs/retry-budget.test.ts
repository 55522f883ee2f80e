// @module-tag slow
// `retry --budget N`: a run may use N credits in total, whatever it was planned with.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'
import type { TestMill } from '../../support/mill.ts'

async function budgets({ db }: TestMill) {
  const { rows } = await sql<{ budget: number | null; state: string }>`
    select budget, state from runs order by id`.execute(db)
  return rows
}

describe('the budget given to retry', () => {
  test('applies to a run that was planned without one', async () => {
    const { api, mill } = await openScene()
    const number = await mill.plan(queries(20))
    await mill.drain()
    const flags = ['--run', String(number), '--buy-again', '--budget', '26']
    expect(await run('retry', [...flags, '--yes'], mill.env)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`run ${number} may use 26 credits in total; 20 are used`),
    })
    const drained = await run('work', ['--drain'], mill.env)
    expect(drained.code).toBe(3)
    expect(api.charges()).toHaveLength(26)
    expect(await mill.states()).toEqual({ answered: 6, unaffordable: 14 })
  })

  test('applies if it is smaller than the budget of the run', async () => {
    const { api, mill } = await openScene()
    const number = await mill.plan(queries(20), { budget: 100 })
    await mill.drain()
    const flags = ['--run', String(number), '--buy-again', '--budget', '25']
    expect((await run('retry', [...flags, '--yes'], mill.env)).code).toBe(0)
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 5 })
    expect(api.charges()).toHaveLength(25)
  })

  test('applies to a named open run, even if none of its tasks has to be reopened', async () => {
    const { api, mill } = await openScene()
    const number = await mill.plan(queries(20))
    const flags = ['--run', String(number), '--budget', '5']
    const preview = await run('retry', flags, mill.env)
    expect(preview.code).toBe(0)
    expect(await budgets(mill)).toEqual([{ budget: null, state: 'open' }])
    expect(await run('retry', [...flags, '--yes'], mill.env)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`run ${number} may use 5 credits in total; 0 are used`),
    })
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 5 })
    const less = await run('retry', ['--run', String(number), '--budget', '4', '--yes'], mill.env)
    expect(less).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing was changed') })
    expect(api.charges()).toHaveLength(5)
  })

  test('is refused with exit code 2 if more is used already, and nothing is changed', async () => {
    const { mill } = await openScene()
    const number = await mill.plan(queries(10))
    await mill.drain()
    await mill.plan(queries(3), { list: 'other' })
    await sql`update runs set spent = 7 where state = 'open'`.execute(mill.db)
    const said = `expected a budget of at least 11 credits for run ${number}, got 10, but 10 are already used or held`
    for (const more of [[], ['--yes']]) {
      const flags = ['--list', 'test', '--buy-again', '--budget', '10', ...more]
      const refused = await run('retry', flags, mill.env)
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
    }
    const open = await run(
      'retry',
      ['--run', String(number + 1), '--budget', '6', '--yes'],
      mill.env,
    )
    expect(open).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('at least 7 credits for run'),
    })
    expect(await budgets(mill)).toEqual([
      { budget: null, state: 'done' },
      { budget: null, state: 'open' },
    ])
    expect(await mill.states()).toEqual({ answered: 10, open: 3 })
  })

  test.each([[['--list', 'test']], [['--state', 'failed']], [['--error', 'TIMEOUT']]])(
    'applies to each of several runs that %j selects, or none of them is reopened',
    async (selection) => {
      const { api, mill } = await openScene()
      await mill.plan(queries(8))
      await mill.plan(queries(8), { budget: 2 })
      await mill.plan(queries(8), { budget: 50 })
      await sql`
        update tasks set state = 'failed', finished_at = now(), error_code = 'TIMEOUT'`.execute(
        mill.db,
      )
      await sql`update slices set done_at = now()`.execute(mill.db)
      await sql`update runs set state = 'done', finished_at = now(), spent = 4 where budget = 2`.execute(
        mill.db,
      )
      await sql`update runs set state = 'done', finished_at = now()`.execute(mill.db)
      const refused = await run('retry', [...selection, '--budget', '3', '--yes'], mill.env)
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('got 3, but 4 are'),
      })
      expect(await mill.states()).toEqual({ failed: 24 })
      const { code } = await run('retry', [...selection, '--budget', '5', '--yes'], mill.env)
      expect(code).toBe(0)
      expect(await budgets(mill)).toEqual(
        Array.from({ length: 3 }, () => ({ budget: 5, state: 'open' })),
      )
      expect(await mill.drain()).toMatchObject({ finish: 'budget' })
      expect(api.charges()).toHaveLength(5 + 1 + 5)
    },
  )
})
