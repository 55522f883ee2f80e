// The list of all commands, and the form in which messages name them.

import { installed } from '../root.ts'

/** One command. Help, the README's table and the scripts of package.json are all made of these, or held to them. */
interface Command {
  readonly about: string
  /** Flags of Node that bound its memory. */
  readonly bounds?: readonly string[]
  /** Its page, as the README links to it. */
  readonly page?: string
}

/** Every command there is for users, by what it is for, those of every day first. */
export const groups: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  'Every day': {
    enqueue: {
      about: 'reads lists, plans a run of each, queues what has to be bought',
      bounds: ['--max-old-space-size=256'],
    },
    work: {
      about: 'buys an answer for each open task, and stores it; --drain ends when nothing is left',
      bounds: ['--max-old-space-size=512'],
    },
    status: { about: 'runs, credits, why it stands still, what to type next' },
    nightly: { about: 'plans the runs of the schedules when they are due' },
    desk: {
      about: 'serves the page where people look',
      bounds: ['--max-old-space-size=128', '--max-semi-space-size=2'],
      page: 'docs/desk.md',
    },
    sql: { about: 'asks the tables: a question of the library, or any SQL that reads' },
    report: { about: 'writes one page of pictures' },
    export: { about: 'writes a view, a table or an answer into a file' },
    verify: { about: 'proves the promises on the live data' },
    demo: { about: 'from nothing to answered tables on this machine' },
  },
  Runs: {
    resume: { about: 'lifts a stop' },
    retry: { about: 'opens failed tasks again' },
    cancel: { about: 'ends a run' },
    expand: {
      about: 'buys the most promising related searches of a list, within credits',
      page: 'docs/expand.md',
    },
  },
  Credits: {
    budget: { about: 'shows and sets budgets' },
    outlook: { about: 'what open runs and coming nights will cost' },
    statement: { about: 'explains every change of the balance' },
    cadence: {
      about: 'how often each query is asked, and what asking less saves',
      page: 'docs/ask-less.md',
    },
  },
  News: {
    alerts: { about: 'what moved in ranks and shares, with evidence' },
    trust: {
      about: 'which nights and answers are quarantined, and what people decided about them',
      page: 'docs/operations.md#nights-that-are-not-trusted',
    },
    notify: { about: 'what the webhook was told, and a test of it' },
    domains: { about: 'which domains are ours or of rivals, and since when' },
  },
  'Old data': {
    archive: {
      about: 'moves old nights into Parquet files, and brings them back',
      bounds: ['--max-old-space-size=192', '--max-semi-space-size=2'],
      page: 'docs/archive.md',
    },
    prune: { about: 'removes old raw bodies' },
    forget: {
      about: 'forgets a list, a query or a domain; the ledger keeps its sums',
      page: 'docs/operations.md#forget-a-list-a-query-or-a-domain',
    },
    reparse: { about: 'reads kept bodies again, without a call' },
  },
  'This installation': {
    init: { about: 'makes a folder ready: settings, a first list, schedules' },
    doctor: { about: 'checks this machine, settings and servers, and says what to do' },
    migrate: { about: 'prepares a database' },
    rebuild: { about: 'makes the queue again from the tables' },
    health: { about: 'whether a process is well, by its exit code' },
    stack: { about: 'the database and the service of this machine' },
  },
  'The search service': {
    service: { about: 'runs the search service' },
    keys: { about: 'its keys' },
    corpus: { about: 'its documents' },
  },
}

/** The same by their names. */
export const commands: ReadonlyMap<string, Command> = new Map(
  Object.values(groups).flatMap((group) => Object.entries(group)),
)

const names = [...commands.keys()].join('|')

/** Other texts may begin so: `npm run build` may be a query of a list. */
const command = new RegExp(`\\bnpm run (?:-s )?(${names})\\b( --(?= |$))?`, 'g')

/**
 * Text with its commands as they are typed here. Everything that speaks of commands names them as a checkout has them; an
 * installed package has one program for all of them, and no lists of its own to try.
 */
export function asTyped(text: string, fromPackage: boolean = installed): string {
  if (!fromPackage || !text.includes('npm run ')) return text
  return text.split('\n').map(lineAsTyped).join('\n')
}

/** Keeps the column in which examples explain a command. */
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
