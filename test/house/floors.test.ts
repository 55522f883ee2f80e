import { describe, expect, test } from 'vitest'
import { climbs, strays, trespasses, usersOf } from './floors.ts'
import { cyclesOf, importsOf } from './imports.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('floors', () => {
  test('an import from a lower floor to a higher one is found', () => {
    const stray = tree({ 'src/base/query.ts': imports('../core/ledger/admission.ts') })
    expect(climbs(stray)).toEqual(['src/base/query.ts -> src/core/ledger/admission.ts'])
  })

  test('an import between two rooms of one floor is found, even a type or lazy import', () => {
    expect(
      climbs(
        tree({
          'src/core/queue/jobs.ts': `import type { Row } from '../lists/rows.ts'`,
          'src/core/lists/read.ts': `export const open = () => import('../search/call.ts')`,
          'src/core/search/call.ts': `export * from '../ledger/admission.ts'`,
          'src/features/expand/plan.ts': `let rule: import('../alerts/rules.ts').Rule`,
          'src/features/verify/news.ts': `export { forget } from '../forget/forget.ts'`,
        }),
      ),
    ).toEqual([
      'src/core/queue/jobs.ts -> src/core/lists/rows.ts',
      'src/core/lists/read.ts -> src/core/search/call.ts',
      'src/core/search/call.ts -> src/core/ledger/admission.ts',
      'src/features/expand/plan.ts -> src/features/alerts/rules.ts',
      'src/features/verify/news.ts -> src/features/forget/forget.ts',
    ])
  })

  test('core imports no feature, and a feature is imported only by its listed files', () => {
    expect(
      climbs(
        tree({
          'src/core/worker/duties.ts': imports('../../features/alerts/find-alerts.ts'),
          'src/features/analysis/sql-command.ts': imports('../archive/load.ts'),
          'src/features/archive/load.ts': imports('../analysis/sql-command.ts'),
          'src/features/demo/nights.ts': imports('../alerts/told.ts'),
        }),
      ),
    ).toEqual([
      'src/core/worker/duties.ts -> src/features/alerts/find-alerts.ts',
      'src/features/archive/load.ts -> src/features/analysis/sql-command.ts',
    ])
  })

  test('a file that imports a feature is found, except jobs and the feature itself', () => {
    const files = tree({
      'jobs/alerts.ts': imports('../src/features/alerts/command.ts'),
      'src/desk/news.ts': imports('../features/alerts/told.ts', '../features/alerts/rules.ts'),
      'src/features/alerts/command.ts': imports('./rules.ts', '../../core/mill.ts'),
      'src/features/demo/demo.ts': imports('../alerts/told.ts'),
    })
    expect(usersOf(files)).toEqual({
      'features/alerts': ['src/desk/news.ts', 'src/features/demo/demo.ts'],
      'features/demo': [],
    })
  })

  test('the service and querymill are separate, in both directions', () => {
    expect(
      climbs(
        tree({
          'src/service/serve.ts': imports('../core/mill.ts', '../base/secret.ts'),
          'src/base/embedded/service.ts': imports('../../service/serve.ts'),
          'jobs/service.ts': imports('../src/service/serve.ts'),
        }),
      ),
    ).toEqual([
      'src/service/serve.ts -> src/core/mill.ts',
      'src/base/embedded/service.ts -> src/service/serve.ts',
    ])
  })

  test('a job is imported by no file, and the program imports no test', () => {
    expect(
      climbs(
        tree({
          'jobs/demo.ts': imports('./work.ts', '../src/pipeline.ts'),
          'test/whole/mill.test.ts': imports(
            '../../jobs/work.ts',
            '../../src/core/runs/status-command.ts',
          ),
          'src/base/ids.ts': imports('../../test/support/database.ts'),
          'jobs/bench.ts': imports('../test/bench/lists.ts'),
        }),
      ),
    ).toEqual([
      'jobs/demo.ts -> jobs/work.ts',
      'test/whole/mill.test.ts -> jobs/work.ts',
      'src/base/ids.ts -> test/support/database.ts',
    ])
  })

  test('imports that go down are allowed', () => {
    const fine = tree({
      'jobs/work.ts': imports('../src/core/worker/work.ts', '../src/base/config.ts'),
      'src/desk/page.ts': imports('../features/new-feature/page.ts'),
      'src/features/new-feature/page.ts': imports('../../core/mill.ts', './html.ts'),
      'src/core/scheduler/run.ts': imports('../enqueue/enqueue.ts', '../mill.ts'),
      'src/core/worker/worker.ts': imports('../../pipeline.ts', '../queue/jobs.ts'),
      'src/pipeline.ts': imports('./core/ledger/reserve.ts', './base/database/database.ts'),
    })
    expect(climbs(fine)).toEqual([])
  })

  test('a folder on no floor, and a file directly in src/, are found', () => {
    const files = tree({
      'src/cache/keep.ts': '',
      'src/core/cache/keep.ts': '',
      'src/work.ts': '',
      'src/pipeline.ts': '',
      'src/core/ledger/keep.ts': '',
      'src/features/status/status.ts': '',
      'src/desk/page.ts': '',
    })
    expect(strays(files)).toEqual(['src/cache/keep.ts', 'src/core/cache/keep.ts', 'src/work.ts'])
  })
})

describe('libraries', () => {
  test('a library imported by another file than its owner is found, under any path', () => {
    expect(
      trespasses(
        tree({
          'src/core/ledger/admission.ts': imports('kysely', 'zod', 'node:fs'),
          'src/base/database/kysely.ts': imports('kysely', 'pg'),
          'src/core/lists/encoding.ts': imports('jschardet'),
          'src/desk/report/page.ts': imports('jschardet'),
        }),
      ),
    ).toEqual(['src/core/ledger/admission.ts -> kysely', 'src/desk/report/page.ts -> jschardet'])
  })

  test('a library without an owner is found', () => {
    expect(trespasses(tree({ 'src/base/csv.ts': imports('@acme/csv/fast') }))).toEqual([
      'src/base/csv.ts -> @acme/csv',
    ])
  })
})

describe('cycles', () => {
  test('a cycle is found once, wherever it is entered', () => {
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

  test('two paths to one file are not a cycle', () => {
    const files = tree({
      'src/a.ts': imports('./b.ts', './c.ts'),
      'src/b.ts': imports('./c.ts'),
      'src/c.ts': '',
    })
    expect(cyclesOf(importsOf(files))).toEqual([])
  })
})
