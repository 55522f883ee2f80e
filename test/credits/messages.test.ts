import fc from 'fast-check'
import { expect, test } from 'vitest'
import { messageRuns, modelSeed } from '../support/schedules.ts'
import { liveThrough, messageSchedule } from './messages/schedule.ts'

test('messages that are late, lost, doubled or overtaken, frozen processes, wrong clocks and a restored database leave every promise kept', () => {
  const kept = fc.property(messageSchedule, (drawn) => void liveThrough(drawn))
  const found = fc.check(kept, { numRuns: messageRuns, seed: modelSeed })
  expect(fc.defaultReportMessage(found) ?? 'kept').toBe('kept')
  expect(found.numRuns).toBe(messageRuns)
}, 3_600_000)
