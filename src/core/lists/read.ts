// Opens a list: detects its format from its first lines, and reads its queries piece by piece.

import { buffer } from 'node:stream/consumers'
import { count } from '../../base/cli/text.ts'
import { Misuse } from '../../base/errors.ts'
import { looksLikeMail, otherThings, scoredRows } from './column-score.ts'
import { type Dialect, show } from './columns.ts'
import { findDialect } from './dialect.ts'
import { decode, detectEncoding, lastLineEnd } from './encoding.ts'
import { refuseForeign } from './foreign.ts'
import type { ReadOptions } from './options.ts'
import { createReader, type ListPiece } from './reader.ts'
import { type ColumnFindings, createSurvey, noticesOf, sameFindings } from './soft-columns.ts'
import { peek, type Source } from './source.ts'

export type { ColumnFindings, ListPiece }

/** Findings from the first lines of a list. */
export type Heading = Awaited<ReturnType<typeof openList>>['heading']

const headSize = 256 * 1024

/** Rejects a list with an ambiguous beginning before the rest of the list is read. */
export async function openList(source: Source, typed: ReadOptions, known?: ColumnFindings) {
  const options = { ...typed, firstLine: source.firstLine }
  const { head, whole, all } = await peek(source.chunks, headSize)
  if (head.length === 0) throw nothingIn(source.shown, true)
  const encoding = await detectEncoding(head, whole, options.encoding)
  const decoded = await buffer(decode([head], encoding, { shown: source.shown, toTheEnd: whole }))
  const text = whole ? decoded : decoded.subarray(0, lastLineEnd(decoded) || undefined)
  if (encoding.how === 'guessed') throw guessed(source.shown, encoding.label, text)
  if (text.toString().trim() === '') throw nothingIn(source.shown, whole)
  if (options.delimiter === undefined) refuseForeign(text, source.shown, options)
  const { dialect, rows, candidates } = findDialect(text, source.shown, options)
  const { width } = dialect.columns
  // If the number of columns has changed since the flags were stored, the stored column numbers may be wrong.
  if (options.width !== undefined && options.width !== width) {
    throw new Misuse(
      `expected ${source.shown} to have ${options.width} columns, as it did when its format was last confirmed, got ${width}; enqueue the list by hand once to confirm the new format`,
    )
  }
  const [, runnerUp] = candidates
  const survey = createSurvey(dialect, options)
  for (const cells of rows) survey.look(cells)
  const verdict = known ?? survey.verdict()
  const { read, ...reader } = createReader(source, { dialect, verdict }, options)
  return {
    heading: {
      file: source.file ?? source.shown,
      sheet: source.sheet ?? null,
      ...{ encoding, dialect, verdict },
      rows: rows.slice(0, 3) as readonly (readonly string[])[],
      /** Index of the next most likely query column. */
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
    pieces: readAll(source, decode(all, encoding, source), read),
    /** After the last piece, returns the findings with which the list must be read again, or null. */
    again: () => {
      const last = reader.survey.verdict()
      return sameFindings(verdict, last) ? null : last
    },
  }
}

/** Columns of labels, such as "high" and "low", score lower. */
const likelyScore = 0.6

function contentNotice(
  rows: readonly (readonly string[])[],
  { columns: { query } }: Dialect,
): readonly string[] {
  const found = rows.slice(0, scoredRows).map((cells) => cells[query] ?? '')
  const mails = found.filter(looksLikeMail).length
  const things = otherThings(found)
  if (mails > 0) {
    const lines = `${count(mails, 'line')} at the beginning of the list ${mails === 1 ? 'is an email address' : 'are email addresses'}`
    return [`${lines}: personal data would be sent to the search API`]
  }
  if (things === undefined) return []
  return [`the queries seem to be ${things}, such as ${show(found[0] ?? '')}`]
}

function nothingIn(shown: string, whole: boolean): Misuse {
  const found = whole
    ? 'an empty file; put one query on each line'
    : `only blank lines in the first ${headSize / 1024} KiB; remove them`
  return new Misuse(`expected queries in ${shown}, got ${found}`)
}

function guessed(shown: string, label: string, text: Buffer): Misuse {
  const rows = text.toString().split(/\r\n|\n|\r/)
  // Lines with characters outside ASCII show whether the guess is right.
  // eslint-disable-next-line no-control-regex -- the range covers all of ASCII
  const telling = rows.filter((row) => /[^\u0000-\u007f]/.test(row)).slice(0, 3)
  const sample = telling.map((row) => `  ${row.slice(0, 100)}`).join('\n')
  return new Misuse(
    `expected ${shown} to be UTF-8 or UTF-16, got another encoding, perhaps ${label}; if the lines below look right, use --encoding ${label}, otherwise try another encoding:\n${sample}`,
  )
}

async function* readAll(
  source: Source,
  pieces: AsyncIterable<Buffer>,
  read: ReturnType<typeof createReader>['read'],
): AsyncGenerator<ListPiece> {
  for await (const piece of pieces) yield* read(piece, false)
  yield* read(Buffer.alloc(0), true)
  await source.check()
}
