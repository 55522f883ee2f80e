// Opens a list: detects its format from its first lines, and reads its queries piece by piece.

import { buffer } from 'node:stream/consumers'
import { count } from '../../base/cli/text.ts'
import { Misuse } from '../../base/errors.ts'
import { looksLikeMail, otherThings, scoredRows } from './column-score.ts'
import { type Dialect, show } from './columns.ts'
import { findDialect } from './dialect.ts'
import { decode, detectEncoding, type Encoding } from './encoding.ts'
import { refuseForeign } from './foreign.ts'
import { type ReadOptions, refuseOtherShape } from './options.ts'
import { type ListPiece, Reader } from './reader.ts'
import { type ColumnFindings, noticesOf, sameFindings, Survey } from './soft-columns.ts'
import { peek, type Source } from './source.ts'

export type { ColumnFindings, ListPiece }

/** Findings from the first lines of a list. */
export interface Heading {
  /** File name as typed, or `standard input`. */
  readonly file: string
  readonly sheet: string | null
  readonly encoding: Encoding
  readonly dialect: Dialect
  readonly verdict: ColumnFindings
  /** First rows below the header. */
  readonly rows: readonly (readonly string[])[]
  /** Index of the next most likely query column; null if no other column is likely. */
  readonly runnerUp: number | null
}

const headSize = 256 * 1024

/** Opens a list. Rejects a list with an ambiguous beginning before the rest of the list is read. */
export async function openList(source: Source, typed: ReadOptions, known?: ColumnFindings) {
  const options = { ...typed, firstLine: source.firstLine }
  const { head, whole, all } = await peek(source.chunks, headSize)
  if (head.length === 0) throw nothingIn(source.shown, true)
  const encoding = await detectEncoding(head, whole, options.encoding)
  const text = await decodeHead({ head, whole }, encoding, source.shown)
  if (encoding.how === 'guessed') throw guessed(source.shown, encoding, text)
  if (text.toString().trim() === '') throw nothingIn(source.shown, whole)
  if (options.delimiter === undefined) refuseForeign(text, source.shown, options)
  const { dialect, rows, candidates } = findDialect(text, source.shown, options)
  refuseOtherShape(source.shown, options, dialect)
  const [, runnerUp] = candidates
  const survey = new Survey(dialect, options)
  for (const cells of rows) survey.look(cells)
  const verdict = known ?? survey.verdict()
  const reader = new Reader(
    { shown: source.shown, dialect, verdict, hiddenRows: source.hiddenRows },
    options,
  )
  return {
    heading: {
      file: source.file ?? source.shown,
      sheet: source.sheet ?? null,
      ...{ encoding, dialect, verdict },
      rows: rows.slice(0, shownRows),
      runnerUp: runnerUp !== undefined && runnerUp.score > likelyScore ? runnerUp.index : null,
    },
    /** Line numbers of further headers, where blocks or joined files start. */
    headersAgain: reader.headersAgain,
    /** Remarks about the list, such as the columns that are ignored despite their names. */
    notices: [
      ...(source.notices ?? []),
      ...noticesOf(dialect, verdict),
      ...contentNotice(rows, dialect),
    ],
    pieces: readAll(source, decode(all, encoding, source), reader),
    /**
     * Call this function after the last piece. If the rows contradict the beginning of the list, returns the findings
     * with which the list must be read again; otherwise null.
     */
    again: () => {
      const last = reader.survey.verdict()
      return sameFindings(verdict, last) ? null : last
    },
  }
}

const shownRows = 3

/** Score that a likely query column must exceed. Columns of labels, such as "high" and "low", score lower. */
const likelyScore = 0.6

/**
 * Warns about queries that look like other data. Also warns about email addresses, because they are personal data and
 * queries are sent to a third party.
 */
function contentNotice(
  rows: readonly (readonly string[])[],
  { columns: { query } }: Dialect,
): readonly string[] {
  const found = rows.slice(0, scoredRows).map((cells) => cells[query] ?? '')
  const mails = found.filter(looksLikeMail).length
  const things = otherThings(found)
  if (mails === 0)
    return things === undefined
      ? []
      : [`the queries seem to be ${things}, such as ${show(found[0] ?? '')}`]
  const lines = `${count(mails, 'line')} at its beginning ${mails === 1 ? 'is an email address' : 'are email addresses'}`
  return [`${lines}: personal data would go to the search API`]
}

function nothingIn(shown: string, whole: boolean): Misuse {
  const found = whole
    ? 'an empty file; put one query on each line'
    : `blank lines only in its first ${headSize / 1024} KiB; remove them`
  return new Misuse(`expected queries in ${shown}, got ${found}`)
}

/** Decodes the complete lines among the first bytes. */
async function decodeHead(
  { head, whole }: { head: Buffer; whole: boolean },
  encoding: Encoding,
  shown: string,
): Promise<Buffer> {
  const text = await buffer(decode([head], encoding, { shown, toTheEnd: whole }))
  if (whole) return text
  const end = Math.max(text.lastIndexOf(10), text.lastIndexOf(13)) + 1
  return end === 0 ? text : text.subarray(0, end)
}

function guessed(shown: string, { label }: Encoding, text: Buffer): Misuse {
  const rows = text.toString().split(/\r\n|\n|\r/)
  // Lines with characters outside ASCII show whether the guess is right.
  // eslint-disable-next-line no-control-regex -- the range covers all of ASCII
  const telling = rows.filter((row) => /[^\u0000-\u007f]/.test(row)).slice(0, 3)
  const sample = telling.map((row) => `  ${row.slice(0, 100)}`).join('\n')
  return new Misuse(
    `expected ${shown} to be UTF-8 or UTF-16, got other bytes, perhaps ${label}; if these lines look right, type --encoding ${label}, otherwise another --encoding:\n${sample}`,
  )
}

async function* readAll(
  source: Source,
  pieces: AsyncIterable<Buffer>,
  reader: Reader,
): AsyncGenerator<ListPiece> {
  for await (const piece of pieces) yield* reader.read(piece, false)
  yield* reader.read(Buffer.alloc(0), true)
  await source.check()
}
