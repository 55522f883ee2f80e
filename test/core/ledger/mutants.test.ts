// @module-tag slow
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mutants } from './mutants.ts'
import { live, schedule } from './schedule.ts'
import { spoil } from './spoiled.ts'

/** Number of schedules after which a fault must be found; nearly all are found within the first hundred. */
const enough = 12_000

/** Seed for faults that name none. */
const usualSeed = 7

test.each(mutants)('schedules detect that $name', async (mutant) => {
  const core = await spoil(mutant)
  const kept = fc.property(schedule, (drawn) => void live(core, drawn))
  const { seed = usualSeed } = mutant
  const found = fc.check(kept, { numRuns: enough, seed, endOnFailure: true })
  expect(found.failed).toBe(true)
})

test('no two faults are the same', () => {
  const places = mutants.map(({ file, find, put }) => `${file} ${find} ${put}`)
  expect(new Set(places).size).toBe(mutants.length)
})
