import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { processEnvironment } from '../../src/base/config.ts'
import { rebuild } from '../../src/core/runs/rebuild.ts'
import { root } from '../../src/base/root.ts'
import { openBenchMill, startStandIn, type Ground } from './ground.ts'
import { memoryOf } from './meter.ts'
import { planRun } from './plan.ts'

export interface MemoryFigures {
  readonly queries: number
  readonly per_second: number
  /** Memory of the worker in megabytes at ten points of the run. */
  readonly rss: readonly number[]
  /** Peak memory. */
  readonly largest: number
}

const lookMs = 250

/** Runs one worker like `npm run work -- --drain` in a separate process, so that only its own memory is measured. */
export async function measureMemory(
  ground: Ground,
  { lanes, latencyMs, queries }: { lanes: number; latencyMs: number; queries: number },
): Promise<MemoryFigures> {
  const api = await startStandIn(latencyMs)
  const settings = { MILL_CONCURRENCY: String(lanes) }
  const mill = await openBenchMill(ground, { api, redis: false, settings, name: 'memory' })
  try {
    await rebuild(mill, await planRun(mill.db, queries))
    const began = performance.now()
    const { seen, largest } = await watchWorker({
      ...processEnvironment(),
      DATABASE_URL: mill.databaseUrl,
      REDIS_URL: '',
      MILL_HOME: mill.config.home,
      SEARCH_API_URL: api.url,
      SEARCH_API_KEY: api.key,
      ...settings,
    })
    const seconds = (performance.now() - began) / 1_000
    const rss = Array.from(
      { length: 10 },
      (_, tenth) => seen[Math.floor((tenth * seen.length) / 10)] ?? Number.NaN,
    )
    return { queries, per_second: Math.round(queries / seconds), rss, largest }
  } finally {
    await mill.close()
    await api.close()
  }
}

async function watchWorker(
  env: NodeJS.ProcessEnv,
): Promise<{ seen: readonly number[]; largest: number }> {
  const [, ...args] = [...scriptOf('work'), '--drain']
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000)
  })
  const seen: number[] = []
  let largest = 0
  const timer = setInterval(() => {
    const now = memoryOf(child.pid ?? 0)
    if (now === null) return
    seen.push(now.rss)
    largest = now.largest
  }, lookMs)
  try {
    const [code] = await once(child, 'exit')
    if (code !== 0)
      throw new Error(`expected the worker to end with 0, got ${String(code)}, after:\n${said}`)
  } finally {
    clearInterval(timer)
  }
  return { seen, largest }
}

/** The command behind `npm run`, including flags. */
export function scriptOf(name: 'archive' | 'enqueue' | 'sql' | 'work'): string[] {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  const { scripts } = JSON.parse(text) as { scripts: Record<typeof name, string> }
  return scripts[name].split(' ')
}
