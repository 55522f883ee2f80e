// const { api, mill } = await openScene({ api: {...faulty options}, backend, settings }): a stand-in API and a program
// that buys from it; everything is removed after the test.
import { onTestFinished } from 'vitest'
import { startFaulty } from '../faults/api/standin.ts'
import { testMill, type TestMill, type TestMillOptions } from './mill.ts'

type FaultyOptions = Parameters<typeof startFaulty>[0]
type Faulty = Awaited<ReturnType<typeof startFaulty>>

export interface SceneOptions extends Omit<TestMillOptions, 'api'> {
  readonly api?: Partial<FaultyOptions>
}

export interface Scene {
  readonly api: Faulty
  readonly mill: TestMill
}

export async function openScene(options: SceneOptions = {}): Promise<Scene> {
  const api = await startFaulty({
    seed: 'scene',
    credits: 10_000,
    kind: 'live',
    cost: 1,
    ...options.api,
  })
  onTestFinished(() => api.close())
  const { api: _, ...rest } = options
  const mill = await testMill({ ...rest, api })
  onTestFinished(() => mill.close())
  return { api, mill }
}

/** `query 1` to `query n`. */
export function queries(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `query ${index + 1}`)
}
