// Lists all commands, and formats their names for messages.

import { isCheckout, isImage } from '../root.ts'

/** A command. The help text, the README's table and package.json are generated from or checked against this list. */
interface Command {
  readonly about: string
  readonly bounds?: readonly string[]
  readonly page?: string
  /** Name of the command within its group, if different from the command's own name. */
  readonly as?: string
}

export interface Group {
  readonly title: string
  /** Optional word before these command names in the installed program, as in `querymill run retry`. */
  readonly word?: string
  readonly commands: Readonly<Record<string, Command>>
  /** Aliases in the group, each for a command with a flag. */
  readonly short?: Readonly<Record<string, readonly [name: string, flag: string]>>
}

/** All user commands, grouped by purpose, with the most common first. */
export const groups: readonly Group[] = [
  {
    title: 'Every day',
    commands: {
      enqueue: {
        about: 'reads lists of queries, plans a run for each list, and queues its calls',
        bounds: ['--max-old-space-size=256'],
      },
      work: {
        about: 'buys and stores answers for open tasks; with --drain, ends when none are left',
        bounds: ['--max-old-space-size=512'],
      },
      status: { about: 'shows runs, credits, stops, and the next command to run' },
      nightly: { about: 'starts scheduled runs when they are due' },
      desk: {
        about: 'serves the desk, which shows dashboards in the browser',
        bounds: ['--max-old-space-size=128', '--max-semi-space-size=2'],
        page: 'docs/desk.md',
      },
      sql: { about: 'answers a predefined question, or runs a read-only SQL statement' },
      report: { about: 'writes a report as one HTML file' },
      export: { about: 'exports a view, a table or an answer as a file' },
      verify: { about: 'checks the stored data and the ledger' },
      demo: { about: 'runs a complete demo on this machine with invented answers, at no cost' },
    },
  },
  {
    title: 'Runs',
    word: 'run',
    commands: {
      retry: { about: 'reopens tasks that failed or have an unknown outcome' },
      cancel: { about: 'cancels a run, or the open runs of a list' },
      resume: { about: "lifts an account's stop" },
      rebuild: { about: 'rebuilds the queue from the tables' },
      reparse: { about: 'parses stored bodies again without making calls' },
      expand: {
        about: 'buys the most promising related searches of a list, within a credit limit',
        page: 'docs/expand.md',
      },
    },
  },
  {
    title: 'Credits',
    word: 'credits',
    commands: {
      forecast: {
        about:
          'forecasts the cost of open runs and coming nights, and when the credit floor is reached',
      },
      budget: { about: "shows budgets, or sets a list's monthly budget" },
      statement: { about: 'explains every balance change' },
    },
  },
  {
    title: 'Schedules',
    word: 'schedule',
    commands: {
      cadence: {
        about: 'shows how often each query is asked, and the credits saved',
        page: 'docs/ask-less.md',
      },
    },
    short: { show: ['nightly', '--show'], once: ['nightly', '--once'] },
  },
  {
    title: 'News',
    commands: {
      alerts: { about: 'shows rank and share changes, with evidence, and loads alert rules' },
      trust: {
        about: 'shows quarantined runs and answers, and overrides decisions',
        page: 'docs/operations.md#nights-that-are-not-trusted',
      },
      notify: { about: 'shows webhook notices, or sends a test notice' },
      domains: { about: "shows or sets our own and competitors' domains, with their dates" },
    },
  },
  {
    title: 'Administration',
    word: 'admin',
    commands: {
      init: { about: 'sets up a folder with settings, a first list and schedules' },
      doctor: { about: 'checks this machine, the settings and the servers, and suggests fixes' },
      migrate: { about: 'creates or updates the database tables' },
      stack: { about: 'shows or stops the embedded database and search service' },
      health: { about: 'checks whether a process is healthy, and sets the exit code' },
      archive: {
        about: 'moves the answers of old days into Parquet files, or restores them',
        bounds: ['--max-old-space-size=192', '--max-semi-space-size=2'],
        page: 'docs/archive.md',
      },
      prune: { about: 'deletes old response bodies' },
      forget: {
        about: 'deletes a list or a query; the ledger keeps the cost',
        page: 'docs/operations.md#forget-a-list-or-a-query',
      },
    },
  },
  {
    title: 'The search service',
    word: 'service',
    commands: {
      service: { about: 'runs the search service', as: 'start' },
      keys: { about: 'issues, replaces, lists and revokes service keys, and shows usage' },
      corpus: { about: 'loads the documents that the service searches' },
    },
  },
]

export const commands: ReadonlyMap<string, Command> = new Map(
  groups.flatMap((group) => Object.entries(group.commands)),
)

export function namesIn(group: Group): ReadonlyMap<string, readonly string[]> {
  const own = Object.entries(group.commands).map(([name, { as = name }]) => [as, [name]] as const)
  return new Map<string, readonly string[]>([...Object.entries(group.short ?? {}), ...own])
}

const names = [...commands.keys()].join('|')

const command = new RegExp(`\\bnpm run (?:-s )?(${names})\\b( --(?= |$))?`, 'g')

const ofCheckout = 'npm run '
const ofPackage = 'npx querymill '

export const programName = isImage ? 'querymill' : 'npx querymill'

/** Prefix of every command line in this installation. */
export const commandStart = isCheckout ? ofCheckout : `${programName} `

/** Returns the command line that runs `text` in this installation. `text` ends with `--` if flags follow. */
export function npmRun(text: string): string {
  return asTyped(`npm run ${text}`)
}

/** Rewrites the commands in a help text or message for this installation. */
export function asTyped(text: string, start = commandStart): string {
  if (start === ofCheckout) return text
  return text
    .split('\n')
    .map((line) => lineAsTyped(line, start))
    .join('\n')
}

/** Rewrites the commands in a line, and keeps the explanations of examples aligned. */
function lineAsTyped(line: string, start: string): string {
  const [, words = line, gap = '', rest = ''] = /^(.*?\S)( {2,})(.*)$/.exec(line) ?? []
  const now = wordsAsTyped(words, start)
  if (rest === '') return now
  const room = words.length + gap.length - now.length
  return now + ' '.repeat(Math.max(2, room)) + wordsAsTyped(rest, start)
}

function wordsAsTyped(words: string, start: string): string {
  const typed = words.replace(command, (_, name: string) => start + name)
  // The sample list is inside the installed package, where users should not edit it.
  return start === ofPackage
    ? typed.replaceAll('enqueue inputs/keywords.csv', 'enqueue YOUR.csv')
    : typed
}
