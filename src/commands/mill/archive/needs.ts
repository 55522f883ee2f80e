import type { PlannedReading } from '../../../store/archive/plan.ts'
import { readViews } from '../../../store/views.ts'

/**
 * Which of some tables a question may read: those that it names, that a view or a function names which it names, and so
 * on. A table too many costs time, one too few would cost the answer: every word counts, also one in a comment.
 */
export function tablesOf(question: string, tables: readonly string[]): readonly string[] {
  const texts = new Map(readViews().files.map(({ name, text }) => [name, text]))
  const seen = wordsBehind(question, texts)
  return tables.filter((name) => seen.has(name))
}

/** The words of a text, and of the definitions of all that it names. */
function wordsBehind(text: string, texts: ReadonlyMap<string, string>): ReadonlySet<string> {
  const seen = new Set<string>()
  const look = (from: string): void => {
    for (const [word] of from.toLowerCase().matchAll(/\w+/g)) {
      if (seen.has(word)) continue
      seen.add(word)
      const defined = texts.get(word)
      if (defined !== undefined) look(defined)
    }
  }
  look(text)
  return seen
}

/** The columns of a table that a planned question reads, among other words; null: all of them may be. */
export function columnsRead(
  { words, functions }: PlannedReading,
  table: string,
): ReadonlySet<string> | null {
  const read = words.get(`archived_${table}`) ?? new Set()
  const ours = new Map(readViews().files.map(({ name, text }) => [name, withoutWords(text)]))
  // What a function reads is in the plan of the question only if the server has put it in there.
  const hidden = functions.some((name) => !ours.has(name) || wordsBehind(name, ours).has(table))
  // A row as a whole is all of its columns.
  return hidden || read.has('.*') ? null : read
}

/** A definition without what is only said about it: that nearly each names results by the way would tell nothing. */
function withoutWords(text: string): string {
  return text.replaceAll(/--[^\n]*|comment on [^']*'(?:[^']|'')*';/g, '')
}
