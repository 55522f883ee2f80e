import { describe, expect, test } from 'vitest'
import { climbs, strays, trespasses } from './floors.ts'
import { cyclesOf, importsOf } from './imports.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('floors', () => {
  test('an import from a lower floor to a higher one is found', () => {
    const stray = tree({ 'src/shared/query.ts': imports('../credits/admit.ts') })
    expect(climbs(stray)).toEqual(['src/shared/query.ts -> src/credits/admit.ts'])
  })

  test('an import between two rooms of one floor is found, even of a type or a lazy one', () => {
    expect(
      climbs(
        tree({
          'src/queue/slices.ts': `import type { Row } from '../lists/rows.ts'`,
          'src/lists/read.ts': `export const open = () => import('../store/database.ts')`,
          'src/search/call.ts': `export * from '../credits/admit.ts'`,
          'src/commands/enqueue/plan.ts': `let tally: import('../work/tally.ts').Tally`,
          'src/commands/monitor/news.ts': `export { work } from '../work/work.ts'`,
          'src/commands/status.ts': imports('./reparse.ts'),
        }),
      ),
    ).toEqual([
      'src/queue/slices.ts -> src/lists/rows.ts',
      'src/search/call.ts -> src/credits/admit.ts',
      'src/commands/enqueue/plan.ts -> src/commands/work/tally.ts',
      'src/commands/monitor/news.ts -> src/commands/work/work.ts',
      'src/commands/status.ts -> src/commands/reparse.ts',
    ])
  })

  test('the service and the mill are kept apart, both ways', () => {
    expect(
      climbs(
        tree({
          'src/service/serve.ts': imports('../store/database.ts', '../shared/secret.ts'),
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
          'test/whole/mill.test.ts': imports('../../jobs/work.ts', '../../src/commands/status.ts'),
          'src/shared/ids.ts': imports('../../test/support/database.ts'),
          'jobs/bench.ts': imports('../test/bench/lists.ts'),
        }),
      ),
    ).toEqual([
      'jobs/demo.ts -> jobs/work.ts',
      'test/whole/mill.test.ts -> jobs/work.ts',
      'src/shared/ids.ts -> test/support/database.ts',
    ])
  })

  test('imports that go down are left alone', () => {
    const fine = tree({
      'jobs/work.ts': imports('../src/commands/work/work.ts', '../src/shared/config.ts'),
      'src/commands/nightly/run.ts': imports('../enqueue/enqueue.ts', '../mill/mill.ts'),
      'src/commands/work/worker.ts': imports('../../pipeline.ts', '../../queue/slices.ts'),
      'src/commands/new-command/page.ts': imports('../mill/mill.ts', './html.ts'),
      'src/pipeline.ts': imports('./credits/admit.ts', './store/database.ts'),
      'src/credits/admit.ts': imports('./account.ts', '../shared/errors.ts'),
      'src/store/ledger/books.ts': imports('../database.ts', '../../shared/ids.ts'),
    })
    expect(climbs(fine)).toEqual([])
  })

  test('a folder that the house does not have, and a file directly in src/, are found', () => {
    const files = tree({
      'src/cache/keep.ts': '',
      'src/work.ts': '',
      'src/store.ts': '',
      'src/pipeline.ts': '',
      'src/store/keep.ts': '',
      'src/commands/status.ts': '',
      'src/commands/desk/page.ts': '',
    })
    expect(strays(files)).toEqual(['src/cache/keep.ts', 'src/work.ts', 'src/store.ts'])
  })
})

describe('libraries', () => {
  test('a library imported by another than its owner is found, under any path of it', () => {
    expect(
      trespasses(
        tree({
          'src/credits/admit.ts': imports('kysely', 'zod', 'node:fs'),
          'src/store/kysely.ts': imports('kysely', 'pg'),
          'src/lists/read.ts': imports('csv-parse/sync'),
          'src/report/read.ts': imports('csv-parse/sync'),
        }),
      ),
    ).toEqual(['src/credits/admit.ts -> kysely', 'src/report/read.ts -> csv-parse'])
  })

  test('a library that nobody owns is found', () => {
    expect(trespasses(tree({ 'src/shared/csv.ts': imports('@acme/csv/fast') }))).toEqual([
      'src/shared/csv.ts -> @acme/csv',
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
