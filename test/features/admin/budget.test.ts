// @module-tag slow
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

describe('npm run budget', () => {
  test('shows the budgets of the day, the month, lists and open runs, and what is left of each', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(3), { budget: 9 })
    await mill.drain()
    await mill.plan(queries(5), { budget: 9, maxAgeMs: 0 })
    const env = { ...mill.env, MILL_DAILY_BUDGET: '20', MILL_MONTHLY_BUDGET: '30' }
    expect((await run('budget', ['--list', 'test', '--credits', '7'], env)).code).toBe(0)
    const { stdout } = await run('budget', ['--json'], env)
    const today = new Date().toISOString().slice(0, 10)
    expect(JSON.parse(stdout)).toEqual({
      budgets: [
        { of: 'the day', since: today, budget: 20, gone: 3, left: 17 },
        { of: 'the month', since: `${today.slice(0, 7)}-01`, budget: 30, gone: 3, left: 27 },
        { of: 'list test', since: `${today.slice(0, 7)}-01`, budget: 7, gone: 3, left: 4 },
        {
          of: expect.stringMatching(/^run \d+ of test$/),
          since: null,
          budget: 9,
          gone: 0,
          left: 9,
        },
      ],
    })
    const none = await run('budget', ['--list', 'test', '--none', '--json'], mill.env)
    expect(JSON.parse(none.stdout).budgets).toHaveLength(1)
  })

  test('suggests the command that retry needs if the budget of a list would leave everything unaffordable again', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(9))
    await run('budget', ['--list', 'test', '--credits', '4'], mill.env)
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 4 })
    const flags = ['--state', 'unaffordable']
    const refused = await run('retry', [...flags, '--yes'], mill.env)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('expected list test to have at least 5 credits')
    await run('budget', ['--list', 'test', '--credits', '6'], mill.env)
    expect((await run('retry', [...flags, '--yes'], mill.env)).code).toBe(0)
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 2 })
  })

  test('refuses for a list less than what is used in the month, and changes nothing', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(6))
    await mill.drain()
    const budget = (credits: string) =>
      run('budget', ['--list', 'test', '--credits', credits], mill.env)
    expect((await budget('8')).code).toBe(0)
    expect(await budget('5')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'expected a budget of at least 6 credits for list test, which has used or held them',
      ),
    })
    await mill.plan(queries(6))
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 2 })
  })

  test.each([
    [['--credits', '5'], 'expected --list with --credits or --none'],
    [['--list', 'test'], 'expected --credits with the monthly limit of list test'],
    [['--list', 'nosuch', '--credits', '5'], '"nosuch"; existing lists: test'],
    [['--list', 'test', '--credits', 'much'], 'expected --credits to be a whole number'],
  ])('%s exits with 2 and says what is expected', async (flags, said) => {
    const { mill } = await openScene()
    await mill.plan(['shoes'])
    const ended = await run('budget', flags, mill.env)
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
  })
})
