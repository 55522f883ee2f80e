import { join } from 'node:path'
import { type ArchiveStep, archiveSteps } from '../../src/features/archive/day.ts'
import { openDatabase, type Pool } from '../../src/base/database/database.ts'
import { moveAll } from '../support/archive.ts'
import { startMeter } from './meter.ts'

/** Seconds of CPU of a part, in this process and in PostgreSQL. */
export interface PartCost {
  readonly cpu_s: number
  readonly postgres_s: number
}

/** Part that each step of an archive belongs to. A COPY removes nothing, and reads nothing back. */
const partOf: Readonly<Record<ArchiveStep, string>> = {
  written: 'copy and write',
  verified: 'read back',
  published: 'names and manifests',
  promised: 'names and manifests',
  removed: 'removal',
  committed: 'removal',
}

/** Archives every day again, in this process, and reports the cost of each part. */
export async function measureParts(
  pool: Pool,
  { home, server }: { readonly home: string; readonly server: number },
): Promise<Readonly<Record<string, PartCost>>> {
  const sums = new Map(archiveSteps.map((step) => [partOf[step], { node: 0, postgres: 0 }]))
  let read = startMeter({ postgres: server })
  const step = (name: ArchiveStep) => {
    const { node, postgres } = read()
    const sum = sums.get(partOf[name])
    if (sum !== undefined) {
      sum.node += node
      sum.postgres += postgres
    }
    read = startMeter({ postgres: server })
  }
  await moveAll({ pool, db: openDatabase(pool) }, { folder: join(home, 'parts'), step })
  const inSeconds = (us: number) => Math.round(us / 1e4) / 100
  return Object.fromEntries(
    [...sums].map(([part, { node, postgres }]) => [
      part,
      { cpu_s: inSeconds(node), postgres_s: inSeconds(postgres) },
    ]),
  )
}
