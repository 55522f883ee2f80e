import { openGround } from './ground.ts'
import { measureMemory, type MemoryFigures } from './memory.ts'

/** Runs one worker with 500 lanes over many queries; its memory should stay constant. */
export async function benchSoak(queries: number): Promise<MemoryFigures> {
  const ground = await openGround()
  try {
    return await measureMemory(ground, { lanes: 500, latencyMs: 200, queries })
  } finally {
    await ground.close()
  }
}
