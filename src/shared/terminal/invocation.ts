import { installed } from '../root.ts'
import { commands } from './commands.ts'

const names = Object.keys(commands).join('|')

/** Other texts may begin so: `npm run build` may be a query of a list. */
const command = new RegExp(`\\bnpm run (?:-s )?(${names})\\b( --(?= |$))?`, 'g')

/**
 * What is to be typed, as it is typed here. Everything that speaks of commands names them as a checkout has them; an
 * installed package has one program for all of them, and no lists of its own to try.
 */
export function asTyped(text: string, fromPackage: boolean = installed): string {
  if (!fromPackage || !text.includes('npm run ')) return text
  return text.split('\n').map(lineAsTyped).join('\n')
}

/** What a command does may stand behind it in a column of its own, which stays where it is. */
function lineAsTyped(line: string): string {
  const [, words = line, gap = '', rest = ''] = /^(.*?\S)( {2,})(.*)$/.exec(line) ?? []
  const now = wordsAsTyped(words)
  if (rest === '') return now
  const room = words.length + gap.length - now.length
  return now + ' '.repeat(Math.max(2, room)) + wordsAsTyped(rest)
}

function wordsAsTyped(words: string): string {
  return words
    .replace(command, (_, name: string) => `npx querymill ${name}`)
    .replaceAll('enqueue inputs/keywords.csv', 'enqueue YOUR.csv')
}
