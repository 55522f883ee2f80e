import { expect, test } from 'vitest'
import { measureQuality } from '../../bench/quality.ts'
import { freshUrl } from '../../support/database.ts'

test('known pages come first in the judged set, also when a word of the query is mistyped', async () => {
  const { known, typos } = await measureQuality(await freshUrl())
  expect([known.cases, typos.cases]).toEqual([40, 22])
  expect(known.first).toBeGreaterThanOrEqual(0.95)
  expect(typos.first).toBeGreaterThanOrEqual(0.95)
})
