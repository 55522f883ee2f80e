import { describe, expect, test } from 'vitest'
import { doors, idleDoors, pastDoors } from './doors.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('doors', () => {
  test('an import past the doors of a room is found, even of a type or a lazy one', () => {
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

  test('a room that says nothing of doors has one, which bears its name', () => {
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

  test('a room itself, its tests, and everybody in the room that all stand on may look anywhere', () => {
    const fine = tree({
      'src/core/worker/work.ts': imports('./lease.ts', '../../base/database/trouble.ts'),
      'test/core/worker/lease.test.ts': imports('../../../src/core/worker/lease.ts'),
      'src/core/search/call.ts': imports('../../base/time/zone.ts'),
    })
    expect(pastDoors(fine)).toEqual([])
  })

  test('a door that nobody goes through is found', () => {
    const all = Object.values(doors).flat().length
    expect(idleDoors(tree({}))).toHaveLength(all)
    const used = tree({ 'jobs/work.ts': imports('../src/core/worker/work.ts') })
    expect(idleDoors(used)).toHaveLength(all - 1)
  })
})
