import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'vitest'
import { processEnvironment } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { compiledFrom } from '../support/job.ts'
import type { TestMill } from '../support/mill.ts'

/** A worker process that kills itself at this moment. */
export function startMortal(mill: TestMill, moment: string): ChildProcess {
  const { PATH, HOME, TMPDIR } = processEnvironment()
  const given = Object.entries({ PATH, HOME, TMPDIR, ...mill.env })
  const env = Object.fromEntries(given.filter(([, value]) => value !== undefined))
  const args = [compiledFrom('test/whole/mortal.ts'), moment]
  return spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore' })
}

/** Resolves once it has. */
export async function dies(child: ChildProcess): Promise<void> {
  const [, signal] = child.signalCode === null ? await once(child, 'exit') : [0, child.signalCode]
  expect(signal).toBe('SIGKILL')
}
