import { openGround, openBenchMill, startStandIn } from './ground.ts'
import { inBatches, numberedAnswer, storeAll } from './components.ts'
import { startMeter } from './meter.ts'

export interface GrowthFigures {
  readonly result_rows: number
  /** CPU for storing one answer, in Node and in PostgreSQL, in microseconds. */
  readonly empty_us: number
  readonly full_us: number
  readonly ratio: number
}

const probe = 6_000

/** Storing into empty tables, and into tables with millions of results, with the same statement. */
export async function benchGrowth(
  rows: number,
  say: (line: string) => void,
): Promise<GrowthFigures> {
  const ground = await openGround()
  const api = await startStandIn(0)
  const mill = await openBenchMill(ground, { api, redis: false, name: 'bench' })
  try {
    let stored = 0
    const store = async (count: number) => {
      const answers = Array.from({ length: count }, (_, index) => numberedAnswer(stored + index))
      stored += count
      const read = startMeter({ postgres: ground.postgres.pid })
      await storeAll(mill, inBatches(answers))
      const { node, postgres } = read()
      return (node + postgres) / count
    }
    await store(probe)
    const empty = await store(probe)
    const rounds = Math.ceil(rows / 10 / probe)
    for (let round = 3; round <= rounds; round += 1) {
      await store(probe)
      if (round % 10 === 0) say(`${round * probe * 10} results stored`)
    }
    const full = await store(probe)
    return { result_rows: stored * 10, empty_us: empty, full_us: full, ratio: full / empty }
  } finally {
    await mill.close()
    await api.close()
    await ground.close()
  }
}
