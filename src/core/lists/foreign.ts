import { Misuse } from '../../base/errors.ts'
import { plainName } from './columns.ts'

/** Text that is no list of queries: what it seems to be, judged by how most of its lines begin and end. */
interface Format {
  readonly name: string
  /** Says it all when the file begins with it. */
  readonly first?: RegExp
  /** Says it when most lines are like it. */
  readonly most?: RegExp
}

const formats: readonly Format[] = [
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

// Words that stand over a column, and that nobody types into a search by themselves.
const headings: ReadonlySet<string> = new Set(
  `phrase, phrases, suggestion, suggestions, text, title, name, topic, topics, value, values, item, items, word, words, prompt, prompts, question, questions, string, strings, input, list, begriff, begriffe, wort, wörter, mot, frase, frases, términos, expression, expressions, keyphrase, keyphrases,
keyword phrase, keyword phrases, keyword list, target keyword, target keywords, focus keyword, main keyword,
primary keyword, seed keyword, seed keywords, search phrase, search phrases, search string, key phrase, key phrases,
suchphrase, suchphrasen, suchwort, suchwörter, suchtext, phrase clé, expression clé, frase clave, frase de búsqueda,
frase chiave, termo, termos, término, termine, termini, zoekzin, fraza, frazy, fras, фраза, фразы, слово, слова, ключ,
ключи, フレーズ, 语句, 구문, email, e-mail, mail, sku, asin, ean, gtin, isbn, product id, product name, url, urls,
website, domain, domains, phone, address, id`
    .split(',')
    .map((name) => plainName(name)),
)

const looked = 400

/** Refuses what is no list of queries, when nobody has said that each line of it is one. */
export function refuseForeign(head: Buffer, shown: string): void {
  const lines = linesOf(head)
  const first = lines[0] ?? ''
  const found = formats.find(
    (format) => format.first?.test(first.trimStart()) === true || isMost(lines, format.most),
  )
  if (found === undefined && !isJson(first)) return
  throw new Misuse(
    `expected a list of queries in ${shown}, got what seems to be ${found?.name ?? 'JSON'} (it begins with ${quoted(first)}); save the queries as CSV or one to a line, or type --delimiter none if each line is one query all the same`,
  )
}

/** What reads as one query a line, though its first line says otherwise: a row of a table, or the name of a column. */
export function refuseUnlikelyPlain(head: Buffer, shown: string): void {
  const [first = '', ...rest] = linesOf(head)
  const cells = Math.max(...[',', ';', '\t', '|'].map((sign) => cellsOf(first, sign)))
  if (cells > 2) {
    throw new Misuse(
      `${shown}:1: expected one query a line, or a table whose rows have as many cells as its first line, got ${cells} cells in ${quoted(first)} and rows of other widths; type --no-header --column 1 --delimiter comma (or another sign) if it is a table, or --delimiter none if each line is one query`,
    )
  }
  const rows = [first, ...rest].map((line) => /^"([^"]*)"$/.exec(line.trim())?.[1])
  const inside = [',', ';', '\t', '|'].find((sign) => {
    const [width = 1, ...others] = rows.map((row) => cellsOf(row ?? '', sign))
    return width > 1 && others.length > 0 && others.every((other) => other === width)
  })
  if (inside !== undefined) {
    throw new Misuse(
      `${shown}:1: expected one query a line, got whole rows inside quotes, such as ${quoted(first)}; take the quotes around the rows away, or type --delimiter none if each line is one query`,
    )
  }
  if (rest.length === 0 || !headings.has(plainName(first))) return
  throw new Misuse(
    `${shown}:1: expected a query or a known name of a column, got ${quoted(first)}, which may be either; type --column ${JSON.stringify(first.trim())} if it is the header, or --no-header if it is a query`,
  )
}

/** As many cells as a sign without blanks after it divides: with blanks it is punctuation. */
function cellsOf(line: string, sign: string): number {
  const cells = line.split(sign)
  return cells.slice(1).every((cell) => /^\S/.test(cell)) ? cells.length : 1
}

function linesOf(head: Buffer): string[] {
  return head
    .toString('utf8', 0, 65_536)
    .replace(/^\ufeff/u, '')
    .split(/\r\n|\n|\r/, looked)
    .filter((line) => line.trim() !== '')
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

function quoted(line: string): string {
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60)}…` : line)
}
