// @module-tag slow
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { temporaryFolder } from '../../support/place.ts'

/** A checkout with one job, which prints whether its sources or the compiled program ran. */
function openCheckout() {
  const folder = temporaryFolder('start')
  for (const name of ['src', 'jobs', 'dist/jobs'])
    mkdirSync(join(folder, name), { recursive: true })
  for (const file of ['run.mjs', 'package.json', 'tsconfig.build.json']) {
    cpSync(join(root, file), join(folder, file))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const job = "console.log(import.meta.url.split('.').pop(), process.argv.slice(2).join(' '))\n"
  writeFileSync(join(folder, 'jobs', 'status.ts'), job)
  writeFileSync(join(folder, 'dist', 'jobs', 'status.js'), job)
  const run = (...words: readonly string[]) =>
    execFileSync(process.execPath, ['run.mjs', ...words], { cwd: folder, encoding: 'utf8' }).trim()
  const build = (at: Date) => {
    writeFileSync(join(folder, 'dist', '.built'), '')
    utimesSync(join(folder, 'dist', '.built'), at, at)
  }
  return { folder, run, build }
}

const hourMs = 3_600_000

describe('a command of a checkout', () => {
  test('runs its sources if nothing was compiled', () => {
    expect(openCheckout().run('status', '--json')).toBe('ts --json')
  })

  test('runs the compiled program if it is newer than every source', () => {
    const { run, build } = openCheckout()
    build(new Date(Date.now() + hourMs))
    expect(run('status', '--json')).toBe('js --json')
  })

  test('runs its sources after any one of them was changed', () => {
    const { folder, run, build } = openCheckout()
    build(new Date(Date.now() + hourMs))
    mkdirSync(join(folder, 'src', 'deep'))
    writeFileSync(join(folder, 'src', 'deep', 'new.ts'), '')
    const later = new Date(Date.now() + 2 * hourMs)
    utimesSync(join(folder, 'src', 'deep', 'new.ts'), later, later)
    expect(run('status')).toBe('ts')
  })
})
