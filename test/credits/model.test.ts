import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newAccount } from '../../src/credits/account.ts'
import { admit } from '../../src/credits/admit.ts'
import { settle } from '../../src/credits/settle.ts'
import { modelRuns, modelSeed } from '../support/schedules.ts'
import { live, schedule } from './schedule.ts'

const core = { admit, settle, newAccount }

test('any schedule of calls, deaths, losses and late replies leaves every promise of the ledger kept', () => {
  const kept = fc.property(schedule, (drawn) => void live(core, drawn))
  const found = fc.check(kept, { numRuns: modelRuns, seed: modelSeed })
  expect(fc.defaultReportMessage(found) ?? 'kept').toBe('kept')
  expect(found.numRuns).toBe(modelRuns)
}, 3_600_000)
