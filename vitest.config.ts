import { defineConfig } from 'vitest/config'

// Default export: the test runner asks for one.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/setup.ts'],
    // Two cores: more files at once only make each other slow.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
