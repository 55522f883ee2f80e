// @module-tag slow
// `enqueue --budget N`: the run may use N credits in total, also if the list is added to an open run.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

describe('the budget given for a list whose run is open', () => {
  test.each([
    ['none', []],
    ['a greater one', ['--budget', '50']],
    ['a smaller one', ['--budget', '2']],
  ])('applies if the run was planned with %s', async (_, before) => {
    const { api, mill } = await openScene()
    const file = join(mill.config.home, 'words.csv')
    writeFileSync(file, `q\n${queries(20).join('\n')}\n`)
    expect((await run('enqueue', [file, ...before], mill.env)).code).toBe(0)
    expect((await run('enqueue', [file, '--budget', '6'], mill.env)).code).toBe(0)
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 6 })
    expect(api.charges()).toHaveLength(6)
  })

  test('is refused with exit code 2 if the run has used more, and nothing is planned', async () => {
    const { mill } = await openScene()
    const file = join(mill.config.home, 'words.csv')
    writeFileSync(file, `q\n${queries(5).join('\n')}\n`)
    await run('enqueue', [file], mill.env)
    await sql`update runs set spent = 4`.execute(mill.db)
    writeFileSync(file, `q\n${queries(9).join('\n')}\n`)
    const said =
      'expected a budget of at least 4 credits for the open run 1 of words, which has already used or held them, got 3, so nothing was planned'
    for (const more of [[], ['--dry-run']]) {
      const refused = await run('enqueue', [file, '--budget', '3', ...more], mill.env)
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
    }
    expect(await mill.states()).toEqual({ open: 5 })
    const { rows } = await sql`select budget from runs`.execute(mill.db)
    expect(rows).toEqual([{ budget: null }])
    expect((await run('enqueue', [file, '--budget', '4'], mill.env)).code).toBe(0)
    expect(await mill.states()).toEqual({ open: 9 })
  })
})
