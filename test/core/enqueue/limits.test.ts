// @module-tag slow
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'

const file = join(mkdtempSync(join(tmpdir(), 'querymill-limits-')), 'more.csv')
writeFileSync(file, `query\n${queries(40).join('\n')}\n`)

/** A program with a known balance and known prices: 100 credits, after ten queries at one credit each. */
async function rehearsed(): Promise<Scene> {
  const scene = await openScene({
    api: { credits: 110 },
    settings: { MILL_CREDIT_FLOOR: '20' },
  })
  await scene.mill.plan(Array.from({ length: 10 }, (_, index) => `first ${index}`))
  await scene.mill.drain()
  return scene
}

const runs = async ({ mill }: Scene) => mill.db.selectFrom('runs').select('id').execute()

describe('a purchase', () => {
  test('that does not fit beside open runs is reported by a dry run, with exit code 3', async () => {
    const scene = await rehearsed()
    const dry = () => run('enqueue', [file, '--dry-run', '--json'], scene.mill.env)
    const fits = await dry()
    expect(fits.code).toBe(0)
    expect(JSON.parse(fits.stdout).balance).toMatchObject({ remaining: 100, open: 0, after: 60 })
    await scene.mill.plan(Array.from({ length: 50 }, (_, index) => `other ${index}`))
    const tight = await dry()
    expect(JSON.parse(tight.stdout).balance).toMatchObject({ remaining: 100, open: 50, after: 10 })
    expect(tight.code).toBe(3)
    expect(tight.stderr).toContain('100 now, including about 50 for open runs, 10 afterwards')
    expect(await runs(scene)).toHaveLength(2)
  })

  test('that may cost more than --max-credits is refused with exit code 3, and nothing is written', async () => {
    const scene = await rehearsed()
    const within = (credits: string) =>
      run('enqueue', [file, '--yes', '--max-credits', credits], scene.mill.env)
    const refused = await within('39')
    expect(refused.code).toBe(3)
    expect(refused.stderr).toContain(
      'expected the purchase to cost at most 39 credits, got about 40, at most 40; nothing was queued',
    )
    expect(await runs(scene)).toHaveLength(1)
    expect((await within('forty')).code).toBe(2)
    expect((await within('40')).code).toBe(0)
    expect(await runs(scene)).toHaveLength(2)
  })
})
