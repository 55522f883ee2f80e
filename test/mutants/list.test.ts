import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../../src/base/root.ts'
import { allMutants } from './all.ts'

// Checks only the list: `npm run mutants` applies each fault to a copy and runs the tests.

const files = [...new Set(allMutants.map(({ file }) => file))]
const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))

describe('the faults on the list', () => {
  test.each(files)('are each at one place of %s', (file) => {
    const astray = allMutants
      .filter((mutant) => mutant.file === file)
      .filter(({ find }) => (text.get(file) ?? '').split(find).length !== 2)
    expect(astray.map(({ name }) => name)).toEqual([])
  })

  test('have unique names and change something', () => {
    expect(new Set(allMutants.map(({ name }) => name)).size).toBe(allMutants.length)
    expect(allMutants.filter(({ find, put }) => find === put)).toEqual([])
  })

  test('name existing tests', () => {
    const named = new Set(allMutants.flatMap(({ tests }) => tests))
    expect([...named].filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})
