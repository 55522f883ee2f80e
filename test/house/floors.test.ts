import { describe, expect, test } from 'vitest'
import { climbs, strays, trespasses } from './floors.ts'
import { cyclesOf, importsOf } from './imports.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('floors', () => {
  test('an import from a lower floor to a higher one is found', () => {
    const stray = tree({ 'src/query.ts': imports('./credits/admit.ts') })
    expect(climbs(stray)).toEqual(['src/query.ts -> src/credits/admit.ts'])
  })

  test('an import between two stages is found, even of a type or a lazy one', () => {
    expect(
      climbs(
        tree({
          'src/plan/run.ts': `import type { Row } from '../lists/rows.ts'`,
          'src/queue/jobs.ts': `export const open = () => import('../store/runs.ts')`,
          'src/search/call.ts': `export * from '../credits/admit.ts'`,
          'src/nights/due.ts': `let rows: import('../lists/rows.ts').Row`,
        }),
      ),
    ).toEqual([
      'src/plan/run.ts -> src/lists/rows.ts',
      'src/search/call.ts -> src/credits/admit.ts',
      'src/nights/due.ts -> src/lists/rows.ts',
    ])
  })

  test('the service and the pipeline are kept apart, both ways', () => {
    expect(
      climbs(
        tree({
          'src/service/serve.ts': imports('../store/database.ts', '../secret.ts'),
          'src/embedded/service.ts': imports('../service/serve.ts'),
          'jobs/service.ts': imports('../src/service/serve.ts'),
        }),
      ),
    ).toEqual([
      'src/service/serve.ts -> src/store/database.ts',
      'src/embedded/service.ts -> src/service/serve.ts',
    ])
  })

  test('a job is imported by nobody, and the program imports no test', () => {
    expect(
      climbs(
        tree({
          'jobs/demo.ts': imports('./work.ts', '../src/pipeline.ts'),
          'test/mill.test.ts': imports('../jobs/work.ts', '../src/mill.ts'),
          'src/ids.ts': imports('../test/support/database.ts'),
          'src/csv.ts': imports('../test/bench/lists.ts'),
          'jobs/bench.ts': imports('../test/bench/lists.ts'),
        }),
      ),
    ).toEqual([
      'jobs/demo.ts -> jobs/work.ts',
      'test/mill.test.ts -> jobs/work.ts',
      'src/ids.ts -> test/support/database.ts',
      'src/csv.ts -> test/bench/lists.ts',
    ])
  })

  test('imports that go down are left alone', () => {
    const fine = tree({
      'jobs/work.ts': imports('../src/worker.ts', '../src/config.ts'),
      'src/pipeline.ts': imports('./credits/admit.ts', './store/books.ts', './mill.ts'),
      'src/credits/admit.ts': imports('./account.ts', '../errors.ts'),
      'src/store/ledger.ts': imports('./database.ts', '../ids.ts'),
    })
    expect(climbs(fine)).toEqual([])
  })

  test('a folder that the house does not have is found', () => {
    expect(strays(tree({ 'src/cache/keep.ts': '', 'src/store/keep.ts': '' }))).toEqual([
      'src/cache/keep.ts',
    ])
  })
})

describe('libraries', () => {
  test('a library imported by another than its owner is found, under any path of it', () => {
    expect(
      trespasses(
        tree({
          'src/plan/run.ts': imports('kysely', 'zod', 'node:fs'),
          'src/store/kysely.ts': imports('kysely', 'pg'),
          'src/lists/read.ts': imports('csv-parse/sync'),
          'src/report/read.ts': imports('csv-parse/sync'),
        }),
      ),
    ).toEqual(['src/plan/run.ts -> kysely', 'src/report/read.ts -> csv-parse'])
  })

  test('a library that nobody owns is found', () => {
    expect(trespasses(tree({ 'src/csv.ts': imports('@acme/csv/fast') }))).toEqual([
      'src/csv.ts -> @acme/csv',
    ])
  })
})

describe('circles', () => {
  test('a circle is found once, wherever it is entered', () => {
    const files = tree({
      'src/a.ts': imports('./b.ts'),
      'src/b.ts': imports('./c.ts'),
      'src/c.ts': imports('./a.ts', './b.ts'),
      'src/d.ts': imports('./c.ts'),
    })
    expect(cyclesOf(importsOf(files))).toEqual([
      'src/a.ts -> src/b.ts -> src/c.ts -> src/a.ts',
      'src/b.ts -> src/c.ts -> src/b.ts',
    ])
  })

  test('two ways to one file are no circle', () => {
    const files = tree({
      'src/a.ts': imports('./b.ts', './c.ts'),
      'src/b.ts': imports('./c.ts'),
      'src/c.ts': '',
    })
    expect(cyclesOf(importsOf(files))).toEqual([])
  })
})
