import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noDefaults, type ReadOptions } from '../../../src/core/lists/options.ts'
import { type Heading, openList } from '../../../src/core/lists/read.ts'
import type { ListedQuery, Rejection } from '../../../src/core/lists/rows.ts'
import type { ColumnFindings } from '../../../src/core/lists/soft-columns.ts'
import { openFile, type Source } from '../../../src/core/lists/source.ts'

export interface Read {
  readonly queries: readonly ListedQuery[]
  readonly texts: readonly string[]
  readonly rejected: readonly Rejection[]
  readonly usable: number
  readonly heading: Heading
  readonly headersAgain: readonly number[]
  readonly notices: readonly string[]
}

export const options: ReadOptions = { matchTypes: 'keep', defaults: noDefaults }

/** Reads bytes as a list file. */
export async function read(bytes: Buffer | string, more: Partial<ReadOptions> = {}): Promise<Read> {
  const folder = await mkdtemp(join(tmpdir(), 'list-'))
  try {
    const path = join(folder, 'list.csv')
    await writeFile(path, bytes)
    const source = await openFile(path, 'list.csv')
    try {
      const found = await readOnce(source, { ...options, ...more })
      if (found.again === null) return found
      const anew = await openFile(path, 'list.csv')
      const again = await readOnce(anew, { ...options, ...more }, found.again)
      await anew.close()
      return again
    } finally {
      await source.close()
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function readOnce(source: Source, wishes: ReadOptions, verdict?: ColumnFindings) {
  const list = await openList(source, wishes, verdict)
  const queries: ListedQuery[] = []
  const rejected: Rejection[] = []
  let usable = 0
  for await (const piece of list.pieces) {
    for (const query of piece.queries) queries.push(query)
    for (const rejection of piece.rejected) rejected.push(rejection)
    usable += piece.usable
  }
  const { heading, headersAgain, notices } = list
  const texts = queries.map(({ query }) => query.q)
  return { queries, texts, rejected, usable, heading, headersAgain, notices, again: list.again() }
}

export function utf16be(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}
