import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/sequence.ts'

// Default export: the test runner asks for one.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/setup.ts'],
    // Two more than the cores of a small machine: many files wait for clocks, processes and servers, and with one more a
    // third of the time of both cores was left.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // For what hangs, not for what is slow: a busy machine takes some times as long as a quiet one.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
  },
})
