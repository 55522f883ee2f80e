import { describe, expect, test } from 'vitest'
import { doors, idleDoors, pastDoors } from './doors.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const imports = (...names: string[]) => names.map((name) => `import '${name}'`).join('\n')

describe('doors', () => {
  test('an import past the doors of a room is found, even of a type or a lazy one', () => {
    expect(
      pastDoors(
        tree({
          'jobs/work.ts': `const lease = await import('../src/commands/work/lease.ts')`,
          'src/commands/demo/demo.ts': imports('../work/work.ts', '../work/spool.ts'),
          'src/commands/enqueue/intake.ts': `import type { Row } from '../../lists/dialect.ts'`,
        }),
      ),
    ).toEqual([
      'jobs/work.ts -> src/commands/work/lease.ts',
      'src/commands/demo/demo.ts -> src/commands/work/spool.ts',
      'src/commands/enqueue/intake.ts -> src/lists/dialect.ts',
    ])
  })

  test('a room that says nothing of doors has one, which bears its name', () => {
    expect(
      pastDoors(
        tree({
          'jobs/report.ts': imports(
            '../src/commands/report/report.ts',
            '../src/commands/report/page.ts',
          ),
          'jobs/prune.ts': imports('../src/commands/prune.ts'),
          'src/commands/work/steps.ts': imports('../../pipeline.ts'),
        }),
      ),
    ).toEqual(['jobs/report.ts -> src/commands/report/page.ts'])
  })

  test('a room itself, its tests, and everybody in the rooms that all stand on may look anywhere', () => {
    const fine = tree({
      'src/commands/work/work.ts': imports('./lease.ts', '../../store/ledger/workers.ts'),
      'test/commands/work/lease.test.ts': imports('../../../src/commands/work/lease.ts'),
      'src/search/call.ts': imports('../shared/time/zone.ts'),
    })
    expect(pastDoors(fine)).toEqual([])
  })

  test('a door that nobody goes through is found', () => {
    const all = Object.values(doors).flat().length
    expect(idleDoors(tree({}))).toHaveLength(all)
    const used = tree({ 'jobs/work.ts': imports('../src/commands/work/work.ts') })
    expect(idleDoors(used)).toHaveLength(all - 1)
  })
})
