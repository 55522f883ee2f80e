// Measures components of the code in a folder, once for each line on stdin: `tsx turns.ts FOLDER`.
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type * as Parts from './components.ts'
import type * as Grounds from './ground.ts'
import type * as Wholes from './whole.ts'

const [folder = '.'] = process.argv.slice(2)
const load = async <T>(name: string): Promise<T> =>
  (await import(join(folder, 'test', 'bench', name))) as T
const { measureStoring, measureLedger, measureCalls, measureSlices } =
  await load<typeof Parts>('components.ts')
const { measureWhole } = await load<typeof Wholes>('whole.ts')
const { openGround, startStandIn } = await load<typeof Grounds>('ground.ts')

const ground = await openGround()
const api = await startStandIn(0)
const scene = { ground, api, redis: false }

async function whole(queries: number, redis: boolean): Promise<Parts.Component> {
  const found = await measureWhole(ground, { lanes: 256, latencyMs: 0, queries, redis })
  const { node, postgres, redis: used, cpu: sum, perSecond, foreign } = found
  const each = (cpu: number) => cpu / queries
  return { node: each(node), postgres: each(postgres), redis: each(used), sum, perSecond, foreign }
}

const parts: Readonly<Record<string, (queries: number) => Promise<Parts.Component>>> = {
  storing: (queries) => measureStoring(scene, queries),
  ledger: (queries) => measureLedger(scene, queries),
  calls: (queries) => measureCalls(scene, queries),
  slices: (queries) => measureSlices(scene, queries),
  postgres: (queries) => whole(queries, false),
  redis: (queries) => whole(queries, true),
}

process.stdout.write('"ready"\n')
for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', queries] = line.split(' ')
  const measured = await parts[name]?.(Number(queries))
  if (!process.stdout.write(`${JSON.stringify(measured ?? null)}\n`)) {
    await once(process.stdout, 'drain')
  }
}
await api.close()
await ground.close()
