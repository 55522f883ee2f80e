import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/base/config.ts'
import { type EnqueueFlags, openIntake } from '../../../src/core/enqueue/flags.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'intake-'))
  writeFileSync(join(folder, 'shoes.csv'), 'q\nred shoes\n')
  writeFileSync(join(folder, 'figures.csv'), 'volume,cpc\n1,2\n3,4\n')
})

afterAll(() => rmSync(folder, { recursive: true }))

function open(flags: EnqueueFlags = {}, file = 'shoes.csv') {
  const env = { INIT_CWD: folder, MILL_HOME: join(folder, 'home') }
  return openIntake({ args: [file], flags, env, config: readConfig(env), stream: process.stdin })
}

describe('an intake', () => {
  test('names its list after the file, or as requested', async () => {
    const named = async (flags: EnqueueFlags) => (await open(flags)).orders[0]?.list
    expect(await named({})).toBe('shoes')
    expect(await named({ as: '  cafe\u0301 ' })).toBe('caf\u00e9')
  })

  test.each(['', ' ', 'two\nlines', 'x'.repeat(201)])('refuses the name %j', async (as) => {
    await expect(open({ as })).rejects.toThrow(/expected --as to be a name/)
  })

  test('refuses a file without a query column before anything is started', async () => {
    await expect(open({}, 'figures.csv')).rejects.toThrow(/expected a query column/)
  })

  test.each([
    [{ matchTypes: 'drop' }, /expected --match-types to be one of keep, strip, got drop/],
    [{ maxAge: 'often' }, /expected --max-age to be a duration/],
    [{ budget: '1.5' }, /expected --budget to be a whole number up to 999999999999, got 1\.5/],
  ])('refuses %j and says what is expected', async (flags, message) => {
    await expect(open(flags)).rejects.toThrow(message)
  })

  test('accepts maximum age, budget and tags from the command line', async () => {
    const intake = await open({ maxAge: '90m', budget: '500', tags: 'a,b' })
    expect(intake).toMatchObject({ maxAge: '90m', budget: 500 })
    expect(intake.orders).toMatchObject([{ maxAgeMs: 5_400_000, budget: 500, kind: 'manual' }])
    expect(intake.parameters).toContain('tags a | b')
  })
})
