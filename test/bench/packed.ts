// Reading speed of compressed lists, compared with the same rows as CSV. Each is read in a separate process, `tsx
// packed.ts FILE`.
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { openSource } from '../../src/core/lists/open.ts'
import { openList } from '../../src/core/lists/read.ts'
import { noDefaults } from '../../src/core/lists/options.ts'
import { xlsxOf } from '../core/lists/archives.ts'

export interface PackedFigures {
  readonly kind: 'gz' | 'xlsx'
  readonly rows: number
  /** CPU time of all threads together. */
  readonly rows_per_second: number
  /** Rows per second, divided by those of the same rows as CSV. */
  readonly ratio: number
  /** Memory of the whole process that read it, and of one that read the CSV. */
  readonly peak_rss_mb: number
  readonly csv_peak_rss_mb: number
}

interface Reading {
  readonly rows: number
  readonly seconds: number
  readonly peakRssMb: number
}

/** Reads a compressed CSV list, and one in a spreadsheet. */
export async function benchPacked(large: string, small: string): Promise<readonly PackedFigures[]> {
  const gz = `${large}.gz`
  await pipeline(createReadStream(large), createGzip(), createWriteStream(gz))
  const xlsx = `${small}.xlsx`
  await writeFile(xlsx, sheetOf(await readFile(small, 'utf8')))
  return [await compare('gz', gz, large), await compare('xlsx', xlsx, small)]
}

async function compare(
  kind: PackedFigures['kind'],
  packed: string,
  plain: string,
): Promise<PackedFigures> {
  // The better of two, alternating.
  const [bare, found, bareAgain, foundAgain] = [
    await readApart(plain),
    await readApart(packed),
    await readApart(plain),
    await readApart(packed),
  ]
  const [csv, own] = [faster(bare, bareAgain), faster(found, foundAgain)]
  return {
    kind,
    rows: own.rows,
    rows_per_second: Math.round(own.rows / own.seconds),
    ratio: Math.round((csv.seconds / own.seconds) * 100) / 100,
    peak_rss_mb: own.peakRssMb,
    csv_peak_rss_mb: csv.peakRssMb,
  }
}

function faster(one: Reading, other: Reading): Reading {
  return one.seconds <= other.seconds ? one : other
}

async function readApart(file: string): Promise<Reading> {
  const here = fileURLToPath(import.meta.url)
  const args = ['--max-old-space-size=256', '--import', 'tsx', here, file]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as Reading
}

/** A sheet of the same rows with shared strings, as spreadsheets store them. */
function sheetOf(csv: string): Buffer {
  const texts: string[] = []
  const rows = csv
    .trimEnd()
    .split('\n')
    .map((line, at) => {
      const cells = line.split(',').map((cell, column) => {
        const place = `${'ABC'[column]}${at + 1}`
        if (/^\d+$/.test(cell)) return `<c r="${place}"><v>${cell}</v></c>`
        return `<c r="${place}" t="s"><v>${texts.push(cell) - 1}</v></c>`
      })
      return `<row r="${at + 1}">${cells.join('')}</row>`
    })
  return xlsxOf({ Keywords: rows.join('') }, texts)
}

async function readList(path: string): Promise<Reading> {
  const options = { matchTypes: 'keep', defaults: noDefaults } as const
  // CPU time, because other load on the machine affects only wall time.
  const began = process.cpuUsage()
  const source = await openSource({ kind: 'file', path, shown: path }, options)
  const list = await openList(source, options)
  let rows = 0
  for await (const { queries } of list.pieces) rows += queries.length
  await source.close()
  const { user, system } = process.cpuUsage(began)
  const seconds = (user + system) / 1e6
  return { rows, seconds, peakRssMb: Math.round(process.resourceUsage().maxRSS / 1024) }
}

const [, script, file] = process.argv
if (script === fileURLToPath(import.meta.url) && file !== undefined) {
  process.stdout.write(JSON.stringify(await readList(file)))
}
