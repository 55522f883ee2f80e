// Rejects text that is not a list of queries: other formats, data files, and lines that contain more than a query.

import { Misuse } from '../../base/errors.ts'
import { plainName, show } from './columns.ts'
import { otherThings } from './column-score.ts'
import type { ReadOptions } from './options.ts'
import { isBroken } from './values.ts'

/** Patterns for the first line, any line or most lines (60 percent) of a text in this format. */
interface Format {
  readonly name: string
  readonly first?: RegExp
  readonly any?: RegExp
  readonly most?: RegExp
  readonly advice?: string
}

const formats: readonly Format[] = [
  {
    name: 'a Git LFS pointer to a large file',
    first: /^version https:\/\/git-lfs\./,
    advice: 'fetch the file itself: git lfs pull',
  },
  {
    name: 'a diff',
    first: /^(?:diff --git |--- \S+|Index: \S)/,
    any: /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/,
  },
  {
    name: 'a file with merge conflict markers',
    any: /^(?:<{7}|>{7})(?: |$)/,
    advice: 'resolve the conflict first',
  },
  { name: 'a server log', most: /"(?:GET|POST|HEAD|PUT|PATCH|DELETE|OPTIONS) \S/ },
  { name: 'RTF', first: /^\{\\rtf/ },
  { name: 'a PDF', first: /^%PDF-/ },
  { name: 'a key or certificate', first: /^-----BEGIN / },
  { name: 'HTML', first: /^<(?:!doctype html|html|head|body|script|div|table|meta|p|h\d)\b/i },
  { name: 'XML or TREC markup', first: /^<(?:\?xml|svg|top|doc|topics?|rss|feed)\b/i },
  { name: 'HTML or other markup', most: /^\s*<[a-z!/?]/i },
  { name: 'JSON', first: /^[[{](?:\s*$|\s*["{[])/, most: /^\s*(?:[[{}\]],?\s*$|"[^"]*"\s*:)/ },
  { name: 'JSON lines', most: /^\s*[[{]\s*["{[\d].*[\]}],?\s*$/ },
  { name: 'a source file', first: /^(?:#!|<\?php|#include|\/\*\*?(?:\s|$)|package [\w.]+;)/ },
  {
    name: 'a source file',
    most: /^\s*(?:\/\/|\/\*|\*\/|\* |(?:import|export|const|let|var|def|class|function|return|public|private|#include|using)\s.*[;:{(},]\s*$|(?:import|from)\s+[\w.]+(?:\s+import\b.*)?$|(?:const|let|var)\s+\w+\s*=|import\s.*['"];?\s*$|\s*return\b.*;\s*$|\s+return\b|(?:if|for|while|elif|else|try|except)\b.*[:{]\s*$|[)}\]]+[;,]?\s*$|[\w.]+\s*=\s*\S+.*$|[\w.]+\(.*\)[;:{]?\s*$|\s+\S.*[;{},(]\s*$)/,
  },
  { name: 'YAML', first: /^(?:---|%YAML.*)\s*$/ },
  { name: 'YAML or markdown', most: /^\s*(?:[-*+] |\d+\. |#+ |> |```|---+\s*$)/ },
  { name: 'YAML or settings', most: /^\s*(?:- )?["']?[\w.-]+["']?:(?:\s|$)/ },
  { name: 'a log', most: /^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*\s\S/ },
]

/** Matches a number or bullet before a query. */
const numbering = /^\s*(?:(\d{1,5})\s?[.):]|[•▪◦‣–*-](?=\s))\s*(?=\S)/u

/** Matches a number before a query, unless it starts a fraction or a time, such as "1.5" or "9:30". */
const ordinal = /^\s*\d{1,5}\s?[.):](?!\d{1,3}(?!\d))/

export function stripNumbering(text: string): string {
  return text.replace(numbering, '')
}

export function isComment(line: string): boolean {
  return /^\s*(?:#+\s+|\/\/\s*)[\p{L}\p{N}]/u.test(line)
}

/** The `--numbering` and `--comments` flags switch off the corresponding checks. */
export function refuseForeign(head: Buffer, shown: string, options: ReadOptions): void {
  const lines = linesOf(head)
  const first = lines[0] ?? ''
  const got = (what: string): string =>
    `expected a list of queries in ${shown}, got ${what} (it begins with ${show(first)})`
  if (options.numbering === undefined && isNumbered(lines)) {
    throw new Misuse(
      `${got('a list with numbers or bullets')}; use --numbering strip to remove them, or --numbering keep if they are part of each query`,
    )
  }
  const found = formats.find(
    ({ first: begins, any, most }) =>
      begins?.test(first.trimStart()) === true ||
      (any !== undefined && lines.some((line) => any.test(line))) ||
      (options.numbering === undefined && isMost(lines, most)),
  )
  if (found !== undefined || isJson(first)) {
    const advice = found?.advice ?? 'save the queries as CSV, or with one query per line'
    throw new Misuse(
      `${got(`text that seems to be ${found?.name ?? 'JSON'}`)}; ${advice}, or use --delimiter none if each line is one query anyway`,
    )
  }
  const comment = options.comments === undefined ? lines.find(isComment) : undefined
  if (comment !== undefined) {
    throw new Misuse(
      `expected a list of queries in ${shown}, got ${show(comment)}, which may be a comment; use --comments skip to ignore such lines, or --comments keep if they are queries`,
    )
  }
  if (lines.filter(isBroken).length > lines.length / 10) {
    throw new Misuse(
      `${got(`characters broken by a wrong encoding, such as ${show(lines.find(isBroken) ?? '')}`)}; export the list again as UTF-8, or use --delimiter none if each line is one query anyway`,
    )
  }
}

/** True if nearly every line starts with a bullet, or with a number greater than that of the previous line. */
function isNumbered(lines: readonly string[]): boolean {
  if (lines.length < 3) return false
  const found = lines.map((line) => numbering.exec(line))
  const bullets = found.filter((match) => match !== null && match[1] === undefined).length
  const counted = found.filter(
    (match, at) => match?.[1] !== undefined && Number(match[1]) === Number(found[0]?.[1]) + at,
  ).length
  const rising = lines.filter(
    (line, at) =>
      ordinal.test(line) && Number.parseInt(line) > Number.parseInt(lines[at - 1] ?? ''),
  ).length
  return Math.max(bullets, counted, rising + 1) >= lines.length * 0.8
}

// Column names that are not plausible queries.
const headings: ReadonlySet<string> = new Set(
  `phrase, phrases, suggestion, suggestions, text, title, name, topic, topics, value, values, item, items, word, words, prompt, prompts, question, questions, string, strings, input, list, begriff, begriffe, wort, wörter, mot, frase, frases, términos, expression, expressions, keyphrase, keyphrases,
keyword phrase, keyword phrases, keyword list, target keyword, target keywords, focus keyword, main keyword,
primary keyword, seed keyword, seed keywords, search phrase, search phrases, search string, key phrase, key phrases, kw, kws, seo keyword, seo keywords,
suchphrase, suchphrasen, suchwort, suchwörter, suchtext, phrase clé, expression clé, frase clave, frase de búsqueda,
frase chiave, termo, termos, término, termine, termini, zoekzin, fraza, frazy, fras, фраза, фразы, слово, слова, ключ,
ключи, フレーズ, 语句, 구문, email, e-mail, mail, sku, asin, ean, gtin, isbn, product id, product name, url, urls,
website, domain, domains, phone, address, id`
    .split(',')
    .map((name) => plainName(name)),
)

// Headings with the word "keyword" in languages with few or no spaces.
const longHeading =
  /^\P{P}{0,6}(?:キーワード|検索語|検索ワード|关键[词字]|關鍵[詞字]|搜索词|키워드|검색어)\P{P}{0,6}$/u

const signs = [',', ';', '\t', '|']

/** Rejects lines that look like table rows, a header or other data instead of queries. */
export function refuseUnlikelyPlain(head: Buffer, shown: string): void {
  const lines = linesOf(head)
  const [first = '', ...rest] = lines
  const cells = Math.max(...signs.map((sign) => cellsOf(first, sign)))
  const plain = 'use --delimiter none if each line is one query'
  const inside = signs.find(
    (sign) => lines.filter((line) => cellsInQuotes(line, sign) > 1).length > lines.length * 0.6,
  )
  if (inside !== undefined && rest.length > 0) {
    throw new Misuse(
      `${shown}:1: expected one query per line, got whole rows inside quotes, such as ${show(first)}; remove the quotes around the rows, or ${plain}`,
    )
  }
  if (cells > 2) {
    throw new Misuse(
      `${shown}:1: expected one query per line, or a table with the same number of cells in every row, got ${cells} cells in ${show(first)} and a different number in other rows; use --no-header --column 1 --delimiter comma (or another delimiter) if it is a table, or --delimiter none if each line is one query`,
    )
  }
  const things = otherThings(lines)
  if (things !== undefined) {
    throw new Misuse(
      `expected a query column in ${shown}, got text that seems to be ${things} (it begins with ${show(first)}); ${plain}`,
    )
  }
  if (rest.length > 0 && (isHeading(first) || isTitled(first, rest))) {
    throw new Misuse(
      `${shown}:1: expected a query or a known column name, got ${show(first)}, which may be either; use --column ${JSON.stringify(first.trim())} if it is the header, or --no-header if it is a query`,
    )
  }
}

function isHeading(line: string): boolean {
  const name = plainName(line)
  return headings.has(name) || longHeading.test(name)
}

/** True if only the first line starts with a capital letter or contains an underscore, as column names often do. */
function isTitled(first: string, rest: readonly string[]): boolean {
  const words = first.trim().split(/\s+/)
  if (words.length > 3 || rest.length < 4) return false
  const isName = (line: string): boolean => /^\s*\p{Lu}/u.test(line) || /^\s*\w+_\w+\s*$/.test(line)
  return isName(first) && !rest.some(isName)
}

/** Counts the cells in a line. A separator followed by a blank is punctuation, so the line is then one cell. */
function cellsOf(line: string, sign: string): number {
  const cells = line.split(sign)
  return cells.slice(1).every((cell) => /^\S/.test(cell)) ? cells.length : 1
}

/** Counts the cells of a row that is enclosed in quotes. */
function cellsInQuotes(line: string, sign: string): number {
  return cellsOf(/^"([^"]*)"$/.exec(line.trim())?.[1] ?? '', sign)
}

function linesOf(head: Buffer): string[] {
  return (
    head
      .toString('utf8', 0, 65_536)
      .replace(/^\ufeff/u, '')
      // The regular expressions above take quadratic time for long runs of blanks.
      .replace(/[^\S\r\n]{100,}/g, ' ')
      .split(/\r\n|\n|\r/, 400)
      .filter((line) => line.trim() !== '')
  )
}

function isMost(lines: readonly string[], kind: RegExp | undefined): boolean {
  if (kind === undefined || lines.length < 2) return false
  return lines.filter((line) => kind.test(line)).length > lines.length * 0.6
}

function isJson(line: string): boolean {
  if (!/^\s*[[{]/.test(line)) return false
  try {
    return typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}
