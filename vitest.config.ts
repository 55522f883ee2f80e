import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { RunReporter } from './test/support/reporter.ts'
import { LongestFirst } from './test/support/sequence.ts'

/** A test that is slow by nature says so with `{ tags: ['slow'] }`, a whole file with the comment `@module-tag slow`. */
const slow = 'slow'

// Default export: the test runner asks for one.
export default defineConfig(({ mode }) => {
  const patienceMs = Math.round(180_000 * slowness())
  return {
    test: {
      include:
        mode === 'slow' ? filesThat(/@module-tag slow|tags: \['slow'\]/) : ['test/**/*.test.ts'],
      exclude: mode === 'quick' ? filesThat(/@module-tag slow/) : [],
      tags: [{ name: slow, description: 'random lives, long histories, browsers, other servers' }],
      ...(mode === 'quick' ? { tagsFilter: [`!${slow}`] } : {}),
      ...(mode === 'slow' ? { tagsFilter: [slow] } : {}),
      reporters: ['default', new RunReporter()],
      globalSetup: ['test/support/setup.ts'],
      setupFiles: ['test/support/exits.ts'],
      provide: { patienceMs },
      // Two more than the cores of a small machine: many files wait for clocks, processes and servers, and with one more
      // a third of the time of both cores was left.
      // Slow tests start up to six processes at once, which must not keep each other from their first connection.
      maxWorkers: mode === 'slow' ? 3 : 4,
      // Files of one worker share their modules: to load the mill takes longer than most files of tests.
      isolate: false,
      sequence: { sequencer: LongestFirst },
      // For what hangs, not for what is slow: a busy machine takes some times as long as a quiet one.
      testTimeout: 3 * patienceMs,
      hookTimeout: 3 * patienceMs,
      expect: { poll: { timeout: patienceMs, interval: 20 } },
    },
  }
})

function filesThat(say: RegExp): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file))
    .filter((file) => say.test(readFileSync(file, 'utf8')))
}

/** How many times longer than on an idle machine a process takes to start now; at least 1. */
function slowness(): number {
  const idleMs = 60
  const begun = performance.now()
  for (let n = 0; n < 3; n++) spawnSync(process.execPath, ['--eval', '0'])
  return Math.max(1, (performance.now() - begun) / 3 / idleMs)
}
