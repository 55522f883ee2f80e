// @module-tag slow
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'
import { temporaryFolder } from '../../support/place.ts'
import { whereFound } from '../../support/sweep.ts'
import { seed } from '../expand/seed.ts'

async function lived() {
  const { mill } = await openScene()
  await seed(mill, 'airships', ['zeppelin one', 'common thing'])
  await seed(mill, 'boots', ['common thing'])
  const forget = (...args: readonly string[]) => run('forget', args, mill.env)
  return { mill, forget }
}

const shape = z.looseObject({
  kind: z.string(),
  dry_run: z.boolean(),
  tables: z.record(z.string(), z.number()),
})

describe('npm run forget', () => {
  test('shows what would be deleted and what stays, deletes it with --yes, and leaves a ledger that passes verify', async () => {
    const { mill, forget } = await lived()
    const counted = await forget('--list', 'airships')
    expect(counted).toMatchObject({ code: 0, stderr: expect.stringContaining('--yes') })
    expect(counted.stdout).toMatch(/^searches +1$/m)
    expect(counted.stdout).toContain('1 of its queries are also in other lists')
    expect(counted.stdout).toContain('enqueued again counts as new and is bought again')
    expect(await whereFound(mill.db, 'zeppelin')).not.toEqual([])

    const done = await forget('--list', 'airships', '--yes', '--json')
    expect(done.code).toBe(0)
    expect(shape.parse(JSON.parse(done.stdout))).toMatchObject({
      kind: 'list',
      dry_run: false,
      tables: { searches: 1, queries: 1, list_queries: 2 },
    })
    expect(await whereFound(mill.db, 'zeppelin')).toEqual([])
    expect(await run('verify', [], mill.env)).toMatchObject({ code: 0 })
    expect(await forget('--list', 'airships', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('existing lists: boots'),
    })
  })

  test('continues an interrupted one, whatever the flags', async () => {
    const { mill, forget } = await lived()
    await sql`insert into forgetting_queries (query_id) select id from queries where q = 'zeppelin one'`.execute(
      mill.db,
    )
    expect(await forget('--query', 'zeppelin one', '--yes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('completing an earlier forget'),
    })
    expect(await whereFound(mill.db, 'zeppelin')).toEqual([])
  })

  test('refuses what the archive may contain, and forgets it after the suggested steps', async () => {
    const { mill, forget } = await lived()
    const to = join(temporaryFolder('forget'), 'kept')
    const move = () => run('archive', ['--older', '30d', '--to', to, '--yes'], mill.env)
    await sql`update runs set run_date = '2026-01-05'`.execute(mill.db)
    expect(await move()).toMatchObject({ code: 0 })
    const list = ['--list', 'airships'] as const
    for (const what of [list, ['--query', 'zeppelin one']] as const) {
      expect(await forget(...what, '--yes')).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(
          /got 1 day.*archive -- --back 2026-01-05\.\.2026-01-05 --yes/,
        ),
      })
    }
    const back = await run('archive', ['--back', '2026-01-05..2026-01-05', '--yes'], mill.env)
    expect(back).toMatchObject({ code: 0 })
    expect(await forget(...list, '--yes')).toMatchObject({ code: 0 })
    expect(await whereFound(mill.db, 'zeppelin')).toEqual([])
    expect(await move()).toMatchObject({ code: 0 })
    expect(await run('archive', ['--check'], mill.env)).toMatchObject({ code: 0 })
    expect(await run('verify', [], mill.env)).toMatchObject({ code: 0 })
    const loaded = ['--with-archive', '--archived', '2026-01-05..2026-01-05'] as const
    const asked = 'select q from analysis.results group by q'
    const { stdout } = await run('sql', [asked, ...loaded, '--json'], mill.env)
    expect(stdout).toContain('common thing')
    expect(stdout).not.toContain('zeppelin')
  })
})
