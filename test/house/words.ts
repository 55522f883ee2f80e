// Rules for the wording of comments and pages, each as a function that lists violations.
import type { Tree } from './tree.ts'

/** Doc comments that begin with a word that hides the subject, as `file:line`. */
export function turnedComments(files: Tree): string[] {
  return [...files].flatMap(([path, text]) =>
    [...text.matchAll(/\/\*\*\s*(?:\n\s*\*\s*)?(?:What|Whoever|Who|That which)\b/g)].map(
      ({ index }) => `${path}:${text.slice(0, index).split('\n').length}`,
    ),
  )
}

/** Code files that do not open with a sentence in a comment. */
export function silentFiles(files: Tree): string[] {
  return [...files].flatMap(([path, text]) =>
    /^(?:#!.*\n)?(?:\/\/|\/\*\*)/.test(text) ? [] : [path],
  )
}

const longest = 80

/** Paragraphs and bullets of pages with more than eighty words, as `file: first words (count)`. */
export function longParagraphs(pages: Tree): string[] {
  return [...pages].flatMap(([path, text]) =>
    paragraphsOf(text)
      .filter((paragraph) => wordsOf(paragraph).length > longest)
      .map((paragraph) => {
        const words = wordsOf(paragraph)
        return `${path}: ${words.slice(0, 6).join(' ')} (${words.length})`
      }),
  )
}

/** Paragraphs and bullets, without code, tables and headings. */
function paragraphsOf(text: string): string[] {
  const found: string[] = []
  const prose = text.replaceAll(/^```[^]*?^```$/gm, '')
  for (const line of prose.split('\n')) {
    if (/^\s*(?:[-*]|\d+\.)\s/.test(line) || line.trim() === '') found.push(line)
    else if (!/^\s*[|#]/.test(line)) found.push(`${found.pop() ?? ''} ${line}`)
  }
  return found
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => /\p{L}|\p{N}/u.test(word))
}

/** The words of the glossary's table of replaced terms. */
export function replacedTerms(glossary: string): string[] {
  const table = glossary.split('\n## Replaced terms\n')[1] ?? ''
  const cells = [...table.matchAll(/^\| ([^|]+) \| [^|]+ \|$/gm)].map(([, cell]) => cell ?? '')
  return cells.filter((cell) => cell !== 'replaced')
}

/** Replaced terms in pages and programs, in any case and as a part of a name, as `file:line: term`. */
export function staleTerms(terms: readonly string[], files: Tree): string[] {
  return [...files].flatMap(([path, text]) => {
    const kept = text.split('\n## Replaced terms\n')[0] ?? ''
    return terms.flatMap((term) => {
      const [first = '', ...rest] = term
      const words = term.replaceAll(' ', '(?:\\s|//|\\*)+')
      const parts = `(?<![a-zA-Z])${words}(?![a-z])|(?<=[a-z])${first.toUpperCase()}${rest.join('')}(?![a-z])`
      const pattern = new RegExp(
        `${parts}|\\b${first.toUpperCase()}${words.slice(1)}(?![a-z])`,
        'g',
      )
      return [...kept.matchAll(pattern)].map(
        ({ index }) => `${path}:${kept.slice(0, index).split('\n').length}: ${term}`,
      )
    })
  })
}
