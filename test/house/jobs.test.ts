import { describe, expect, test } from 'vitest'
import { thickJobs } from './jobs.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))
const load = `await import('../src/commands/status/status.ts')\n`

describe('jobs', () => {
  test('a program of more than 60 lines is found, another file of that length is not', () => {
    const files = tree({
      'jobs/long.ts': '1\n'.repeat(61),
      'jobs/fine.ts': '1\n'.repeat(60),
      'src/commands/status/status.ts': '1\n'.repeat(61),
    })
    expect(thickJobs(files)).toEqual(['jobs/long.ts: 61 lines'])
  })

  test('a program that loads more than one module is found, unless there is a reason', () => {
    const files = tree({ 'jobs/one.ts': load, 'jobs/two.ts': load + load })
    expect(thickJobs(files, {})).toEqual(['jobs/two.ts: 2 lazy imports'])
    expect(thickJobs(files, { 'jobs/two.ts': 'it starts two programs' })).toEqual([])
    expect(thickJobs(files, { 'jobs/two.ts': 'two', 'jobs/one.ts': 'once two' })).toEqual([
      'jobs/one.ts: need not be excused',
    ])
  })
})
