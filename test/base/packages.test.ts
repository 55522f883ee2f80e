import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { explainMissing } from '../../src/base/packages.ts'

const folder = mkdtempSync(join(tmpdir(), 'querymill-packages-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const optionalDependencies = {
  '@duckdb/node-api': '1.0.0',
  '@scope/absent': '1.0.0',
  absent: '1.0.0',
  present: '1.0.0',
}
writeFileSync(join(folder, 'package.json'), JSON.stringify({ optionalDependencies }))
mkdirSync(join(folder, 'node_modules', 'present'), { recursive: true })

const failed = (code: string) => Object.assign(new Error('no such package'), { code })

test('a command whose optional packages are absent names the command that installs them', () => {
  expect(explainMissing(failed('ERR_MODULE_NOT_FOUND'), folder)).toMatch(
    /; run: npm install @scope\/absent absent$/,
  )
})

test('a file of our own that is missing, and any other error, is not explained so', () => {
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ optionalDependencies: { present: '1.0.0' } }),
  )
  expect(explainMissing(failed('ERR_MODULE_NOT_FOUND'), folder)).toBeNull()
  expect(explainMissing(failed('ENOENT'), folder)).toBeNull()
})
