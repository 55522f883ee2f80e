import { describe, expect, test } from 'vitest'
import { misplacedTests, untestedFolders } from './mirrors.ts'

const tree = (...paths: string[]) => new Map(paths.map((path) => [path, '']))

describe('mirrors', () => {
  test('a test in a folder without a counterpart in the sources is found', () => {
    const files = tree(
      'src/commands/work/lease.ts',
      'test/commands/work/lease.test.ts',
      'test/commands/work/outages.test.ts',
      'test/worker/brake.test.ts',
      'test/lease.test.ts',
      'test/whole/mill.test.ts',
      'test/support/run.ts',
    )
    expect(misplacedTests(files)).toEqual(['test/worker/brake.test.ts', 'test/lease.test.ts'])
  })

  test('a folder of sources without a test is found, unless the test is at the listed place', () => {
    const files = tree(
      'src/pipeline.ts',
      'src/search/call.ts',
      'src/credits/admit.ts',
      'src/commands/mill/mill.ts',
      'test/search/call.test.ts',
      'test/whole/mill.test.ts',
    )
    const elsewhere = { 'src/commands/mill': 'test/whole/mill.test.ts' }
    expect(untestedFolders(files, elsewhere)).toEqual(['src/credits'])
    expect(untestedFolders(files, { 'src/commands/mill': 'test/whole/gone.test.ts' })).toEqual([
      'src/credits',
      'src/commands/mill',
    ])
  })

  test('a folder that has its own tests after all is found among those tested elsewhere', () => {
    const files = tree('src/search/call.ts', 'test/search/call.test.ts', 'test/whole/mill.test.ts')
    expect(untestedFolders(files, { 'src/search': 'test/whole/mill.test.ts' })).toEqual([
      'src/search',
    ])
  })
})
