import { readViews } from '../../../store/views.ts'

/**
 * Which of some tables a question may read: those that it names, that a view or a function names which it names, and so
 * on. A table too many costs time, one too few would cost the answer: every word counts, also one in a comment.
 */
export function tablesOf(question: string, tables: readonly string[]): readonly string[] {
  const texts = new Map(readViews().files.map(({ name, text }) => [name, text]))
  const seen = new Set<string>()
  const look = (text: string): void => {
    for (const [word] of text.toLowerCase().matchAll(/\w+/g)) {
      if (seen.has(word)) continue
      seen.add(word)
      const defined = texts.get(word)
      if (defined !== undefined) look(defined)
    }
  }
  look(question)
  return tables.filter((name) => seen.has(name))
}
