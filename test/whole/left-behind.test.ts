// @module-tag slow
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { findPostmaster } from '../../src/base/embedded/postgres.ts'
import { commandOf } from '../../src/base/embedded/process.ts'
import { root } from '../../src/base/root.ts'
import { compiledFrom } from '../support/job.ts'

test('a killed test run leaves neither its PostgreSQL nor a folder', async () => {
  const program = `
    import { openPool } from ${JSON.stringify(compiledFrom('src/base/database/database.ts'))}
    import { openServer } from ${JSON.stringify(compiledFrom('test/support/server.ts'))}
    const { adminUrl } = await openServer()
    const { rows } = await openPool(adminUrl, { name: 'tests' }).query("select current_setting('data_directory') as data")
    console.log(rows[0].data)
    setInterval(() => undefined, 1_000)`
  const args = ['--input-type=module', '--eval', program]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line')
  const data = String(line)
  expect(findPostmaster(data)).not.toBeNull()
  const pid = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0])
  child.kill('SIGKILL')
  await expect.poll(() => existsSync(dirname(data))).toBe(false)
  await expect.poll(() => commandOf(pid)).toBeNull()
})
