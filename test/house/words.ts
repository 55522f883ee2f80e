// Rules for how comments and pages read, each as a function that lists what breaks it.
import type { Tree } from './tree.ts'

/** Doc comments that begin with a word that hides the subject, as `file:line`. */
export function turnedComments(files: Tree): string[] {
  return [...files].flatMap(([path, text]) =>
    [...text.matchAll(/\/\*\*\s*(?:\n\s*\*\s*)?(?:What|Whoever|Who|That which)\b/g)].map(
      ({ index }) => `${path}:${text.slice(0, index).split('\n').length}`,
    ),
  )
}

/** Files of code that do not open with a sentence in a comment. */
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

/** Paragraphs and bullets; code, tables and headings are neither. */
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
