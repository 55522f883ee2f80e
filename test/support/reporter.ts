// Adds to the default reporter: at the end of a run, each part that this machine lacks, with the number of skipped
// tests and the command that installs it; the time of each file, in a report that `npm run test:times` prints; and the
// exit of runner processes that ended unexpectedly.
import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import { root } from '../../src/base/root.ts'
import { parts, type PartName } from './parts.ts'

const folder = join(root, 'node_modules', '.cache', 'querymill')
export const timesFile = join(folder, 'test-times.json')

export interface Times {
  readonly seconds: number
  readonly tests: number
  /** Seconds for each file, including imports and hooks. */
  readonly files: Readonly<Record<string, number>>
}

export class RunReporter implements Reporter {
  #begun = 0

  constructor() {
    subscribe('child_process', (message) => tellUnexpectedEnd(message as { process: ChildProcess }))
  }

  onTestRunStart(): void {
    this.#begun = performance.now()
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const times: Times = {
      seconds: (performance.now() - this.#begun) / 1000,
      tests: modules.flatMap((one) => [...one.children.allTests('passed')]).length,
      files: Object.fromEntries(modules.map((one) => [one.relativeModuleId, secondsOf(one)])),
    }
    mkdirSync(folder, { recursive: true })
    writeFileSync(timesFile, JSON.stringify(times))
    for (const line of missingParts(modules)) process.stderr.write(`${line}\n`)
  }
}

/** Vitest reports that a process in its pool ended unexpectedly, but not its exit code or signal. */
function tellUnexpectedEnd({ process: child }: { readonly process: ChildProcess }): void {
  child.once('exit', (code, signal) => {
    const ofVitest = child.spawnargs.some((word) => word.includes('vitest'))
    if (!ofVitest || child.killed || code === 0) return
    process.stderr.write(
      `a process of the test runner (${child.pid}) ended by itself: ${code === null ? `signal ${signal}` : `exit code ${code}`}\n`,
    )
  })
}

function secondsOf(module: TestModule): number {
  const { collectDuration, duration, setupDuration, prepareDuration } = module.diagnostic()
  return (collectDuration + duration + setupDuration + prepareDuration) / 1000
}

function missingParts(modules: readonly TestModule[]): string[] {
  return (Object.keys(parts) as PartName[]).flatMap((name) => {
    if (parts[name].there()) return []
    const left = modules.reduce((sum, module) => sum + leftOut(module, name), 0)
    if (left === 0) return []
    const { debian, macos } = parts[name]
    const mac = macos === null ? 'not on macOS' : `macOS: ${macos}`
    return [`No ${name} here: ${left} tests were left out. Debian: ${debian}; ${mac}.`]
  })
}

/**
 * Number of tests that a file skips because a part is missing; for Redis, the number of corresponding tests on
 * Postgres.
 */
function leftOut(module: TestModule, name: PartName): number {
  const text = readFileSync(module.moduleId, 'utf8')
  const asks = text.includes(`has('${name}')`)
  if (asks) return [...module.children.allTests('skipped')].length
  if (name !== 'redis-server' || !/\bbackends\b/.test(text)) return 0
  return [...module.children.allTests()].filter(({ fullName }) => /\bpostgres\b/.test(fullName))
    .length
}
