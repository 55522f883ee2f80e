import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { admit } from '../../../src/core/ledger/admission.ts'
import { fewModelRuns, modelRuns, modelSeed } from '../../support/schedules.ts'
import { live, schedule } from './schedule.ts'
import { settle } from './settle-model.ts'

const core = { admit, settle }

describe('any schedule of calls, deaths, losses and late replies', () => {
  test('violates no guarantee of the ledger', () => {
    expect(liveThrough(fewModelRuns)).toBe('kept')
  })
  test('violates none in many more schedules', { tags: ['slow'] }, () => {
    expect(liveThrough(modelRuns)).toBe('kept')
  })
})

/** 'kept', or the shortest schedule that violates a guarantee. */
function liveThrough(runs: number): string {
  const kept = fc.property(schedule, (drawn) => void live(core, drawn))
  const found = fc.check(kept, { numRuns: runs, seed: modelSeed })
  if (!found.failed && found.numRuns !== runs) return `lived ${found.numRuns} of ${runs} lives`
  return fc.defaultReportMessage(found) ?? 'kept'
}
