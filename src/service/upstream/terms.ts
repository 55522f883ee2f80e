// Parses a query, looks up its words in the index, and corrects unknown words.

import type { Statements } from '../database.ts'
import { stopWords } from '../enrich/labels.ts'
import {
  applyCorrections,
  correctWords,
  findJoined,
  findSplit,
  type Correction,
  ordinaryWords,
} from './spelling.ts'

/**
 * Returns the query's distinct words, without excluded words, and a text for `websearch_to_tsquery` if the query has
 * operators (quotes, `-` or `or`). Words beyond the thirty-second are ignored, which bounds the cost of a statement.
 */
export function readQuestion(q: string) {
  const tokens = new Map<string, Token>()
  let room = 32
  // `didn't` is `did`, and `what's` is `what`.
  const plain = q.toLowerCase().replace(/(?<!ca)n['’]t\b|['’](?:t|s|re|ve|ll|d|m)\b/g, '')
  const asked = plain.replaceAll('\0', ' ').replaceAll('.prototype.', '.')
  for (const text of asked.match(/-?"[^"]*"?|\S+/g) ?? []) {
    const token = readToken(text)
    if (token.words.length === 0 || tokens.has(token.text)) continue
    room -= token.words.length
    if (room < 0) break
    tokens.set(token.text, token)
  }
  const list = [...tokens.values()]
  const wanted = list.filter(({ excluded, joins }) => !excluded && !joins)
  // If a query consists only of exclusions, such as `-css`, the excluded words are searched for.
  const meant = wanted.length === 0 ? list : wanted
  const words = [...new Set(meant.flatMap((token) => token.words))]
  const operates =
    wanted.length > 0 && list.some(({ excluded, quoted, joins }) => excluded || quoted || joins)
  return { words, operators: operates ? websearch(list, wanted) : null, names: namesIn(q) }
}

/** Returns the words of names such as `Eric Meyer`: capitalised words in a row, unless the query is in title case. */
function namesIn(q: string): ReadonlySet<string> {
  const name = /(?<![^ ])\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)+(?![^ ])/gu
  const found = q.match(name)?.flatMap((text) => text.toLowerCase().split(' ')) ?? []
  return new Set(found.length > 2 && found.length === q.trim().split(/ +/).length ? [] : found)
}

type Question = ReturnType<typeof readQuestion>
type Token = ReturnType<typeof readToken>

function readToken(text: string) {
  // A word such as `-webkit-box-reflect` is a name rather than an exclusion.
  const excluded = /^-["\p{L}\p{N}]/u.test(text) && !/^-(webkit|moz|ms|o|epub)-/.test(text)
  const found = /^v(s\.?|ersus)$/.test(text) ? [] : (text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])
  const words = found.map((word) => word.slice(0, 64))
  return { text, words, excluded, quoted: text.includes('"'), joins: text === 'or' }
}

/** Converts the query to websearch syntax. If the query contains an `or`, all its words are joined with `or`. */
function websearch(tokens: readonly Token[], wanted: readonly Token[]): string {
  const textOf = ({ words }: Token) => (words.length > 1 ? `"${words.join(' ')}"` : words.join(''))
  const unwanted = tokens.filter(({ excluded }) => excluded).map((token) => `-${textOf(token)}`)
  const join = tokens.some(({ joins }) => joins) ? ' or ' : ' '
  return [wanted.map(textOf).join(join), ...unwanted].join(' ')
}

export interface KnownTerm {
  readonly word: string
  readonly documents: number
  /** Lexemes of the word in English and in the requested language. */
  readonly forms: readonly string[]
  readonly weight: number
}

export interface KnownTerms {
  /** The query's words with all corrections applied. */
  readonly words: readonly string[]
  readonly known: readonly KnownTerm[]
  /** Words that are ignored, because the documents contain nothing similar. */
  readonly strange: readonly string[]
  readonly corrections: readonly Correction[]
}

export async function readTerms(
  run: Statements,
  question: Question,
  config: string,
): Promise<KnownTerms> {
  const asked = await lookUp(run, question.words, config)
  // A query with operators is searched as sent, without corrections.
  if (question.operators !== null) return { ...asked, words: question.words, corrections: [] }
  const { names } = question
  const wrong = asked.strange.filter((word) => !names.has(word))
  const joined = await findJoined(run, question.words, wrong)
  const words = applyCorrections(question.words, joined)
  const whole = joined.length === 0 ? asked : await lookUp(run, words, config)
  const terms = await putRight(run, words, { ...whole, names })
  const split = await findSplit(run, correctable(terms.strange, names))
  const corrections = [...joined, ...terms.corrections, ...split]
  if (split.length === 0) return { ...terms, corrections }
  const halves = split.flatMap(({ to }) => to.split(' '))
  const { known } = await lookUp(run, halves, config)
  return {
    words: applyCorrections(terms.words, split),
    known: distinct([...terms.known, ...known]),
    strange: terms.strange.filter((word) => !split.some(({ from }) => from === word)),
    corrections,
  }
}

/** Names and everyday words are never corrected. */
function correctable(words: readonly string[], names: ReadonlySet<string>): string[] {
  return words.filter((word) => !ordinaryWords.has(word) && !names.has(word)).slice(0, 4)
}

type LookedUp = Awaited<ReturnType<typeof lookUp>>

async function lookUp(run: Statements, words: readonly string[], config: string) {
  const rows = await run.rows<{
    readonly word: string
    readonly forms: string[] | null
    readonly documents: number
    readonly total: number
  }>({
    name: 'read-terms',
    text: `
      select
        word,
        array_agg(lexeme order by lexeme) filter (where found.documents > 0) as forms,
        max(found.documents) as documents,
        (select coalesce(sum(documents), 0) from corpora) as total
      from unnest($1::text[]) with ordinality as given (word, nth)
      cross join lateral unnest(tsvector_to_array(to_tsvector('english', word) || to_tsvector($2::regconfig, word))) as lexeme
      cross join lateral (
        select coalesce((select documents from lexemes where lexemes.word = lexeme), 0) as documents
      ) as found
      group by word, nth
      order by nth`,
    values: [words, config],
  })
  const total = rows[0]?.total ?? 0
  const known = rows.flatMap(({ word, forms, documents }) =>
    forms === null ? [] : [toTerm({ word, forms, documents }, total)],
  )
  const strange = rows.filter(({ forms }) => forms === null).map(({ word }) => word)
  return { known: distinct(known), strange, total }
}

async function putRight(
  run: Statements,
  words: readonly string[],
  { known, strange, total, names }: LookedUp & Pick<Question, 'names'>,
): Promise<KnownTerms> {
  const rare = known.filter(({ documents }) => documents <= 1)
  const sure = known.filter(({ documents }) => documents > 1)
  const wrong = correctable([...strange, ...rare.map(({ word }) => word)], names)
  const telling = sure.filter(({ word }) => !stopWords.has(word))
  const titled = allOf(telling, ':A')
  const found = await correctWords(run, wrong, { titled, bold: sure.length > wrong.length })
  // A word that occurs on a single page and is one letter away from a frequent word is probably a typing error.
  const widened = rare.map((term) => {
    const other = found.find(({ wrong: word }) => word === term.word)
    if (other === undefined || other.documents < 30) return term
    const forms = [...term.forms, other.lexeme]
    return toTerm({ word: term.word, forms, documents: other.documents }, total)
  })
  const mended = strange.flatMap((from) => {
    const right = found.filter(({ wrong: word }) => word === from)
    if (right[0] === undefined) return []
    const documents = Math.max(...right.map((one) => one.documents))
    const forms = right.map(({ lexeme }) => lexeme)
    return { from, ...toTerm({ word: right[0].word, forms, documents }, total) }
  })
  const corrections = mended.map(({ from, word: to }) => ({ from, to }))
  return {
    words: words.map((word) => corrections.find(({ from }) => from === word)?.to ?? word),
    known: distinct([...sure, ...widened, ...mended]),
    strange: strange.filter((word) => !corrections.some(({ from }) => from === word)),
    corrections,
  }
}

function toTerm({ word, documents, forms }: Omit<KnownTerm, 'weight'>, total: number): KnownTerm {
  const weight = Math.log(1 + Math.max(1, total) / (1 + documents))
  return { word, documents, forms: [...new Set(forms)], weight }
}

function distinct(terms: readonly KnownTerm[]): KnownTerm[] {
  return [...new Map(terms.map((term) => [term.forms.join(' '), term])).values()]
}

export function allOf(terms: readonly KnownTerm[], label = ''): string {
  return terms.map((term) => anyOf(term, label)).join(' & ')
}

/** Builds a tsquery for any form of a term. */
export function anyOf({ forms }: KnownTerm, label = ''): string {
  const quoted = forms.map(
    (form) => `'${form.replaceAll('\\', '\\\\').replaceAll("'", "''")}'${label}`,
  )
  return `(${quoted.join(' | ')})`
}

/** Builds a tsquery for pages whose words have at least this weight together; empty if no page can. */
export function enoughOf(terms: readonly KnownTerm[], least: number): string {
  const [first, ...others] = terms
  if (first === undefined) return ''
  const rest = first.weight < least ? enoughOf(others, least - first.weight) : 'all'
  const own = rest === 'all' ? anyOf(first) : rest && `(${anyOf(first)} & (${rest}))`
  return [own, enoughOf(others, least)].filter(Boolean).join(' | ')
}
