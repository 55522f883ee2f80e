// Runs once before all tests and once after them, even if some fail.
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { root } from '../../src/base/root.ts'
import { endAfterUs } from './leftovers.ts'
import { temporaryFolder } from './place.ts'
import { openRedis } from './redis-server.ts'
import { openServer } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    adminUrl: string
    template: string
    redisPort: number
    patienceMs: number
  }
}

/** Starts the servers that the tests in one run share, and returns the function that ends them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  compile()
  holdTemporaryFolders()
  const redis = await openRedis()
  try {
    const server = await openServer()
    project.provide('adminUrl', server.adminUrl)
    project.provide('template', server.template)
    project.provide('redisPort', redis?.port ?? 0)
    return async () => {
      await redis?.close()
      await server.close()
    }
  } catch (error) {
    await redis?.close()
    throw error
  }
}

/** Makes one folder for all temporary folders of this run. It is removed after the run, however the run ends. */
function holdTemporaryFolders(): void {
  const folder = temporaryFolder('tests')
  // As in the system's own folder, every user may add files.
  chmodSync(folder, 0o1777)
  process.env.TMPDIR = folder
  endAfterUs(folder)
}

/** Compiles the program once per run, for commands that tests start as processes, and for test programs. */
function compile(): void {
  const options = { cwd: root, stdio: 'inherit' } as const
  const compiler = join('node_modules', 'typescript', 'bin', 'tsc')
  execFileSync(process.execPath, [compiler, '-p', 'test/support/programs.json'], options)
  try {
    execFileSync(process.execPath, ['run.mjs', '--build'], options)
  } catch {
    // The compiler has reported the reason and written the files anyway. An injected fault may leave a name unused, and
    // a test must find it.
    process.stderr.write('the program was compiled in spite of these errors\n')
  }
}
