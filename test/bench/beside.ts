// Measures two versions of this code alternately, part by part: on a busy machine, only measurements from the same
// moment can be compared.
import { spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Misuse } from '../../src/base/errors.ts'
import { root } from '../../src/base/root.ts'
import type { Component } from './components.ts'
import { median } from './meter.ts'

/** CPU of one query in microseconds for both versions, and the result of all pairs. */
export interface BesideFigures {
  readonly part: string
  readonly there: number
  readonly here: number
  /** New to old, as the median of all pairs. */
  readonly ratio: number
  readonly node_ratio: number
  readonly postgres_ratio: number
  readonly pairs: readonly number[]
}

export interface BesideOptions {
  /** Another checkout, with its packages installed. */
  readonly folder: string
  readonly runs: number
  readonly short: boolean
}

const parts = ['storing', 'ledger', 'calls', 'slices', 'postgres', 'redis']

/** Measures each part alone and the whole on both queues, `runs` times on each side, in alternating order. */
export async function benchBeside({ folder, runs, short }: BesideOptions) {
  if (folder === '') throw new Misuse('expected --beside FOLDER, another checkout of this code')
  const there = await open(resolve(folder))
  const here = await open(root)
  try {
    const figures: BesideFigures[] = []
    for (const part of parts) {
      const line = `${part} ${short ? 2_000 : 6_000}`
      // The first run of code costs more than later ones.
      for (const side of [there, here]) await side.ask(line)
      const pairs: [Component, Component][] = []
      for (let run = 0; run < runs; run += 1) {
        if (run % 2 === 0) pairs.push([await there.ask(line), await here.ask(line)])
        else {
          const mine = await here.ask(line)
          pairs.push([await there.ask(line), mine])
        }
      }
      figures.push(compare(part, pairs))
    }
    return figures
  } finally {
    await Promise.all([there.close(), here.close()])
  }
}

function compare(part: string, pairs: readonly [Component, Component][]): BesideFigures {
  const ratios = (of: 'sum' | 'node' | 'postgres') =>
    pairs.map(([there, here]) => Math.round((here[of] / there[of]) * 1_000) / 1_000)
  return {
    part,
    there: Math.round(median(pairs.map(([there]) => there.sum))),
    here: Math.round(median(pairs.map(([, here]) => here.sum))),
    ratio: median(ratios('sum')),
    node_ratio: median(ratios('node')),
    postgres_ratio: median(ratios('postgres')),
    pairs: ratios('sum'),
  }
}

interface Side {
  readonly ask: (line: string) => Promise<Component>
  readonly close: () => Promise<void>
}

/** A separate process, with its own servers, that measures the code of a folder. */
async function open(folder: string): Promise<Side> {
  const args = ['--import', 'tsx', join(root, 'test', 'bench', 'turns.ts'), folder]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error(`expected figures of ${folder}, got nothing`)
    return JSON.parse(value)
  }
  await next()
  return {
    ask: async (line) => {
      child.stdin.write(`${line}\n`)
      return (await next()) as Component
    },
    close: async () => {
      child.stdin.end()
      await ended
    },
  }
}
