import { installed } from '../root.ts'

/** Every command in a line, in the order in which a newcomer meets them. */
export const commands = {
  demo: 'from nothing to answered tables on this machine',
  enqueue: 'reads lists, plans a run of each, queues what has to be bought',
  work: 'buys an answer for each open task, and stores it',
  status: 'runs, credits, why it stands still, what to type next',
  nightly: 'plans the runs of the schedules when they are due',
  expand: 'buys the most promising related searches of a list, within credits',
  desk: 'serves the page where people look',
  sql: 'asks the tables: a question of the library, or any SQL that reads',
  report: 'writes one page of pictures',
  export: 'writes a view, a table or an answer into a file',
  outlook: 'what open runs and coming nights will cost',
  statement: 'explains every change of the balance',
  cadence: 'how often each query is asked, and what asking less saves',
  budget: 'shows and sets budgets',
  alerts: 'what moved in ranks and shares, with evidence',
  notify: 'what the webhook was told, and a test of it',
  domains: 'which domains are ours or of rivals, and since when',
  verify: 'proves the promises on the live data',
  resume: 'lifts a stop',
  retry: 'opens tasks again that failed',
  cancel: 'ends a run',
  rebuild: 'makes the queue again from the tables',
  reparse: 'reads kept bodies again, without a call',
  prune: 'removes old raw bodies',
  archive: 'moves old nights into Parquet files, and brings them back',
  forget: 'forgets a list, a query or a domain; the ledger keeps its sums',
  health: 'whether a process is well, by its exit code: for containers',
  migrate: 'prepares a database',
  stack: 'the database and the service that this machine runs for itself',
  service: 'runs the search service',
  keys: 'keys of the search service',
  corpus: 'documents of the search service',
} as const

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
