import { describe, expect, test } from 'vitest'
import { doors, idleDoors, pastDoors } from './doors.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('doors', () => {
  test('an import past the doors of a room is found, even a type or lazy import', () => {
    expect(
      pastDoors(
        tree({
          'jobs/work.ts': `const lease = await import('../src/core/worker/lease.ts')`,
          'src/features/demo/demo.ts': imports(
            '../../core/worker/work.ts',
            '../../core/worker/spool.ts',
          ),
          'src/core/enqueue/flags.ts': `import type { Row } from '../lists/dialect.ts'`,
        }),
      ),
    ).toEqual([
      'jobs/work.ts -> src/core/worker/lease.ts',
      'src/features/demo/demo.ts -> src/core/worker/spool.ts',
      'src/core/enqueue/flags.ts -> src/core/lists/dialect.ts',
    ])
  })

  test('a room without listed doors has one with its own name', () => {
    expect(
      pastDoors(
        tree({
          'jobs/quota.ts': imports(
            '../src/features/quota/quota.ts',
            '../src/features/quota/page.ts',
          ),
          'src/pipeline.ts': imports('../../pipeline.ts'),
        }),
      ),
    ).toEqual(['jobs/quota.ts -> src/features/quota/page.ts'])
  })

  test('a room itself, its tests, and rooms shared by all may import any file', () => {
    const fine = tree({
      'src/core/worker/work.ts': imports('./lease.ts', '../../base/database/trouble.ts'),
      'test/core/worker/lease.test.ts': imports('../../../src/core/worker/lease.ts'),
      'src/core/search/call.ts': imports('../../base/time/zone.ts'),
    })
    expect(pastDoors(fine)).toEqual([])
  })

  test('a door that no other room uses is found', () => {
    const all = Object.values(doors).flat().length
    expect(idleDoors(tree({}))).toHaveLength(all)
    const used = tree({ 'jobs/work.ts': imports('../src/core/worker/work.ts') })
    expect(idleDoors(used)).toHaveLength(all - 1)
  })
})
