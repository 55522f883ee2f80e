import { expect, test, vi } from 'vitest'

vi.mock('@duckdb/node-api', () => {
  throw new Error("Cannot find package '@duckdb/node-api'")
})

test('without the package for archive files, the command to install it is shown', async () => {
  const { ParquetEngine } = await import('../../../src/features/archive/engine.ts')
  await expect(ParquetEngine.open()).rejects.toThrow(
    /^the package that reads and writes archive files could not be loaded: .*; run: npm install @duckdb\/node-api$/,
  )
})
