import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { prepareFolder } from '../../../src/features/admin/init.ts'
import { temporaryFolder } from '../../support/place.ts'

test('init creates settings, a list and schedules, and does not change existing files', () => {
  const folder = temporaryFolder('init')
  writeFileSync(join(folder, '.env'), 'MILL_CREDIT_FLOOR=5000\n')
  const all = ['.gitignore', 'inputs/first.csv', 'inputs/config/schedules.csv']
  expect(prepareFolder(folder)).toEqual(all)
  expect(readFileSync(join(folder, '.env'), 'utf8')).toBe('MILL_CREDIT_FLOOR=5000\n')
  expect(readFileSync(join(folder, 'inputs/first.csv'), 'utf8')).toMatch(/^keyword,/)
  expect(prepareFolder(folder)).toEqual([])
})
