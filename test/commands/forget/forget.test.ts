import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'
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
  test('says first what would go and what stays, does it with --yes, and leaves books that verify', async () => {
    const { mill, forget } = await lived()
    const counted = await forget('--list', 'airships')
    expect(counted).toMatchObject({ code: 0, stderr: expect.stringContaining('--yes') })
    expect(counted.stdout).toMatch(/^searches +1$/m)
    expect(counted.stdout).toContain('1 of its queries stand in other lists too')
    expect(counted.stdout).toContain('enqueued again is a new one, and is bought again')
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
      stderr: expect.stringContaining('lists so far: boots'),
    })
  })

  test('goes on with one that broke off, whatever is typed', async () => {
    const { mill, forget } = await lived()
    await sql`insert into forgetting_queries (query_id) select id from queries where q = 'zeppelin one'`.execute(
      mill.db,
    )
    expect(await forget('--query', 'zeppelin one', '--yes')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('goes on with an earlier forget'),
    })
    expect(await whereFound(mill.db, 'zeppelin')).toEqual([])
  })
})
