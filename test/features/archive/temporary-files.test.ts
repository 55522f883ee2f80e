import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { withEngine } from '../../../src/features/archive/engine.ts'
import { compiledFrom } from '../../support/job.ts'
import { temporaryFolder } from '../../support/place.ts'

test('each command has its own temporary files, and deletes them at its end, also after Ctrl-C', async () => {
  const place = temporaryFolder('scratch')
  vi.stubEnv('TMPDIR', place)
  const engine = compiledFrom('src/features/archive/engine.ts')
  const text = `
    const { ParquetEngine } = await import(${JSON.stringify(engine)})
    await ParquetEngine.open()
    console.log((await import('node:fs')).readdirSync(process.env.TMPDIR).length)
    process.exit(0)`
  await withEngine(async () => {
    const before = readdirSync(place)
    expect(before).toHaveLength(1)
    const args = ['--input-type=module', '-e', text]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
    expect(stdout).toBe('2\n')
    expect(readdirSync(place)).toEqual(before)
  })
  expect(readdirSync(place)).toEqual([])
  vi.unstubAllEnvs()
})
