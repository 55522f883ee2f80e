import { Misuse } from '../../../../shared/errors.ts'
import { readBatches, type Inquiry } from '../../../../store/analysis/ask.ts'
import { findReader } from '../../../../store/analysis/analyst.ts'
import type { CellColumn } from '../../../../store/analysis/cells.ts'
import type { CellBatch } from '../../../../store/analysis/fetch.ts'
import { expectHarmless } from '../../../../store/analysis/harmless.ts'
import type { SqlQuestion } from '../../../../store/analysis/library.ts'
import type { DeskReading } from '../../page.ts'
import { Turns } from './turns.ts'

/** How much of an answer is read. */
export interface Limits {
  readonly seconds: number
  readonly rows: number
}

/** The beginning of an answer, for a page. */
export interface AskedRows {
  readonly columns: readonly CellColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** True: there are more rows than are shown. */
  readonly more: boolean
  readonly ms: number
  /** What the reader is to know, such as which day is the newest. */
  readonly warnings: readonly string[]
}

const turns = new Turns(2)
const longestCell = 2_000
const longestFileCell = 32_000
const mostCharacters = 3_000_000

/** SQL that a stranger typed: refused where it could do more than read, or where nobody is there who may only read. */
export async function expectStrangers(reading: DeskReading, text: string): Promise<void> {
  expectHarmless(text)
  if ((await findReader(reading.pool)) !== null) return
  throw new Misuse(
    'expected a role that may only read, got none in this database; npm run migrate makes it where its user may make roles',
  )
}

function inquiryOf(reading: DeskReading, question: SqlQuestion, seconds: number): Inquiry {
  const { origins, suspects, signal } = reading
  const timeoutMs = seconds * 1000
  return { ...question, timeoutMs, origins, suspects, signal, warn: () => undefined }
}

/** The first rows of an answer. Whoever leaves, or presses stop, ends it. */
export async function askFor(
  reading: DeskReading,
  question: SqlQuestion,
  { seconds, rows: most }: Limits,
): Promise<AskedRows> {
  const warnings: string[] = []
  const warn = (line: string) => void warnings.push(line)
  const inquiry = { ...inquiryOf(reading, question, seconds), cell: longestCell, warn }
  const rows: (readonly (string | null)[])[] = []
  let columns: readonly CellColumn[] = []
  let characters = 0
  const begun = performance.now()
  for await (const batch of turns.during(() => readBatches(reading.pool, inquiry))) {
    columns = batch.columns
    for (const row of batch.rows) {
      if (rows.length > most || characters > mostCharacters) break
      rows.push(row)
      for (const cell of row) characters += cell?.length ?? 0
    }
    if (rows.length > most || characters > mostCharacters) break
  }
  const more = rows.length > most || characters > mostCharacters
  return { columns, rows: rows.slice(0, most), more, ms: performance.now() - begun, warnings }
}

/** How many rows a file may have: one that would have more breaks off, and is no file. */
const mostFileRows = 1_000_000

/** A whole answer, batch by batch, for a file. */
export async function* askForAll(
  reading: DeskReading,
  question: SqlQuestion,
  seconds: number,
): AsyncGenerator<CellBatch> {
  const inquiry = { ...inquiryOf(reading, question, seconds), cell: longestFileCell }
  let rows = 0
  for await (const batch of turns.during(() => readBatches(reading.pool, inquiry))) {
    rows += batch.rows.length
    if (rows > mostFileRows) {
      throw new Misuse(
        `expected at most ${mostFileRows} rows, got more; npm run export has no such limit`,
      )
    }
    yield batch
  }
}
