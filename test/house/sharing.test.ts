import { describe, expect, test } from 'vitest'
import { lonely } from './sharing.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('what is shared', () => {
  test('a file that one room alone uses is found, and one that only tests use', () => {
    const files = tree({
      'src/shared/brake.ts': '',
      'src/shared/spare.ts': '',
      'src/shared/ids.ts': '',
      'src/commands/work/worker.ts': imports('../../shared/brake.ts', '../../shared/ids.ts'),
      'src/commands/work/lease.ts': imports('../../shared/brake.ts'),
      'src/search/parse.ts': imports('../shared/ids.ts'),
      'test/shared/spare.test.ts': imports('../../src/shared/spare.ts'),
    })
    expect(lonely(files)).toEqual(['src/shared/brake.ts', 'src/shared/spare.ts'])
  })

  test('a file counts as used by whoever uses it through another one that is shared', () => {
    const files = tree({
      'src/shared/ids.ts': '',
      'src/shared/query.ts': imports('./ids.ts'),
      'src/search/parse.ts': imports('../shared/query.ts', '../shared/ids.ts'),
      'src/lists/rows.ts': imports('../shared/query.ts'),
    })
    expect(lonely(files)).toEqual([])
  })

  test('all programs are one room, but for what speaks to a terminal', () => {
    const names = imports('../src/shared/log.ts', '../src/shared/terminal/flags.ts')
    const files = tree({
      'src/shared/log.ts': '',
      'src/shared/terminal/flags.ts': '',
      'jobs/work.ts': names,
      'jobs/nightly.ts': names,
    })
    expect(lonely(files)).toEqual(['src/shared/log.ts'])
  })
})
