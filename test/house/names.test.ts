import { describe, expect, test } from 'vitest'
import { repeatedNames } from './names.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))

describe('names', () => {
  test('a name that two files export is found, whatever it names', () => {
    const files = tree({
      'src/a.ts': 'export type Batch = string\nexport const settle = () => 1',
      'src/b.ts': 'export interface Batch {}\nexport async function settle() {}',
      'jobs/c.ts': 'export class Batch {}\nexport abstract class Alone {}',
    })
    expect(repeatedNames(files, {})).toEqual([
      'Batch: src/a.ts, src/b.ts, jobs/c.ts',
      'settle: src/a.ts, src/b.ts',
    ])
  })

  test('names of a file’s own, overloads, names passed on, and generated names are left alone', () => {
    const files = tree({
      'src/a.ts': 'export type Batch = string\nconst step = 1\nexport { step as one }',
      'src/b.ts': `export type { Batch } from './a.ts'\ntype Batch = 1`,
      'src/c.ts': 'export function read(a: 1): 1\nexport function read(a: 2): 2',
      'src/store/schema.ts': 'export interface Batch {}',
      'test/support/batch.ts': 'export interface Batch {}',
    })
    expect(repeatedNames(files, {})).toEqual([])
  })

  test('a name with a reason is excused as long as it is exported twice', () => {
    const files = tree({ 'src/a.ts': 'export type A = 1', 'src/b.ts': 'export type A = 2' })
    expect(repeatedNames(files, { A: 'one for each backend' })).toEqual([])
    expect(repeatedNames(files, { A: 'one for each backend', B: 'once two' })).toEqual([
      'B: exported once, and need not be excused',
    ])
  })
})
