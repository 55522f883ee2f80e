// Runs a command, and handles its flags, signals, output, errors and exit code.

import { Command, CommanderError } from 'commander'
import type { Environment } from '../config.ts'
import { codeOf, type Exit, exits, MillError, Misuse, reasonOf } from '../errors.ts'
import { scrub } from '../secret.ts'
import { Closers } from '../waiting.ts'
import { asTyped, commands, npmRun } from './commands.ts'
import { typed } from './text.ts'

export interface Call<Options = unknown> {
  readonly options: Options & { readonly json?: true }
  readonly args: readonly string[]
  readonly env: Environment
  readonly closers: Closers
  /** Aborted by the first process signal, so that a command can finish its work. A second signal ends the process. */
  readonly signal: AbortSignal
}

interface Manual<Options> {
  readonly name: string
  /** Help text in addition to the command's description in `commands.ts`. */
  readonly more?: string
  readonly examples: readonly string[]
  /** If true, the first signal requests a graceful shutdown; if false, it ends the command immediately. */
  readonly drains?: boolean
  readonly define?: (program: Command) => void
  /** Imports the command's module after the arguments have been checked. */
  readonly load: () => Promise<(call: Call<Options>) => Promise<Exit>>
}

const exitHelp = `
Exit codes: 0 done · 1 done, some tasks failed · 2 usage, settings or no usable line
            3 stopped at the credit floor or a budget · 4 key refused
            5 database, queue or API unreachable · 130 Ctrl-C · 70 a bug`

export async function runCommand<Options>(manual: Manual<Options>): Promise<void> {
  const program = buildProgram(manual)
  const closers = new Closers()
  endWithReader()
  let exit: Exit
  try {
    refuseFlagsAsValues(program, process.argv.slice(2))
    program.parse()
    // Settings are loaded late, because the help does not need them and should appear immediately.
    const { processEnvironment, refuseUnknownSettings } = await import('../config.ts')
    const env = processEnvironment()
    refuseSwallowed(program, manual.name, env)
    refuseUnknownSettings(env)
    const signal = watchSignals(manual.drains ?? false)
    const run = await manual.load()
    exit = await run({
      options: program.opts<Options & { json?: true }>(),
      args: program.args,
      env,
      closers,
      signal,
    })
  } catch (error) {
    const absent = codeOf(error)?.endsWith('MODULE_NOT_FOUND') === true
    const missing = absent ? (await import('../packages.ts')).explainMissing(error) : null
    exit = explain(missing === null ? error : new Misuse(missing, { cause: error }))
  }
  try {
    await closers.close()
  } catch (error) {
    exit = exit === exits.done ? explain(error) : exit
  }
  // Exits explicitly, because open sockets or timers in a library could keep the process alive.
  process.exitCode = exit
  process.stdout.write('', () => process.exit(exit))
}

/** Ends the command without an error when the reader of its output closes the pipe early, as `| head` does. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? exits.done : exits.bug)
  })
}

function buildProgram<Options>(manual: Manual<Options>): Command {
  const program = new Command(npmRun(`${manual.name} --`))
  const about = commands.get(manual.name)?.about ?? ''
  const sentence = about.replace(/^.+$/, (text) => `${text[0]?.toUpperCase()}${text.slice(1)}.`)
  program
    .description(`${sentence} ${manual.more ?? ''}`.trim())
    .exitOverride()
    .showHelpAfterError(`(${npmRun(`${manual.name} --`)} --help lists the flags)`)
    .helpOption('--help', 'show this help')
    .allowExcessArguments(false)
    .configureOutput({
      writeOut: (text) => process.stdout.write(asTyped(text)),
      writeErr: (text) => process.stderr.write(text),
    })
  manual.define?.(program)
  program.option('--json', 'print one JSON object to stdout')
  const examples = manual.examples.map((example) => `  ${example}`).join('\n')
  program.addHelpText('after', `\nExamples:\n${examples}\n${exitHelp}`)
  return program
}

/** Adds the `--yes` flag, without which a command that buys or deletes only shows a preview. */
export function addYes(program: Command): Command {
  return program.option(
    '--yes',
    'make the changes; without this flag, the command only shows a preview',
  )
}

export const addYesHint = 'nothing was changed; to go ahead, add --yes'

function watchSignals(drains: boolean): AbortSignal {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const second = stop.signal.aborted
      if (!drains || second) process.exit(exits.interrupted)
      stop.abort(name)
    })
  }
  return stop.signal
}

/** Error codes from a server that failed during a request: broken connection, shutdown, lack of resources. */
const outage = /^(08|57P|53|58|3D000|55000|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND)/
/** Error codes for reads and changes that the server denies, for example to an analyst's login. */
const refusal = /^(42501|25006)$/

function explain(error: unknown): Exit {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exits.done : exits.usage
  if (error instanceof MillError) {
    say(`error: ${error.message}`)
    return error.exit
  }
  if (
    error instanceof AggregateError &&
    error.errors.every((inner) => inner instanceof MillError)
  ) {
    return error.errors.map(explain)[0] ?? exits.bug
  }
  const code = codeOf(error) ?? ''
  const known = outage.test(code)
    ? `the database or the queue cannot be reached: ${scrub(String(error))}; try again`
    : refusal.test(code)
      ? `expected a login that may read and change querymill's tables, got ${scrub(reasonOf(error))}; set DATABASE_URL to use the login that ran ${npmRun('migrate')}`
      : null
  if (known !== null) {
    say(`error: ${known}`)
    return exits.unreachable
  }
  say(scrub(error instanceof Error ? (error.stack ?? error.message) : String(error)))
  if (error instanceof AggregateError) for (const inner of error.errors) say(scrub(String(inner)))
  return exits.bug
}

// eslint-disable-next-line no-control-regex -- text from outside must not control the reader's terminal
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Prints a message to stderr, because stdout is reserved for data. */
export function say(line: string): void {
  process.stderr.write(`${line.replace(controls, '')}\n`)
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`)
}

/** Rejects flags typed before `--`. npm drops such flags, so an intended dry run would spend money. */
export function refuseSwallowed(program: Command, name: string, env: Environment): void {
  if (env['npm_lifecycle_event'] !== name) return
  const swallowed = program.options
    .map((option) => ({ option, value: env[`npm_config_${option.name().replaceAll('-', '_')}`] }))
    .filter(
      ({ option, value }) =>
        (value ?? '') !== '' && program.getOptionValueSource(option.attributeName()) !== 'cli',
    )
  if (swallowed.length === 0) return
  const names = swallowed.map(({ option }) => `--${option.name()}`).join(' ')
  // npm passes an unknown flag's value as an argument or in an environment variable.
  const args = program.args.filter((arg) => swallowed.every(({ value }) => value !== arg))
  const flags = swallowed.flatMap(({ option, value }) => {
    if (!option.required) return [`--${option.name()}`]
    const own = value === 'true' ? program.args.find((arg) => !/[./*-]/.test(arg)) : value
    return [`--${option.name()}`, own ?? 'VALUE']
  })
  const used = args.filter((arg) => !flags.includes(arg))
  throw new Misuse(
    `expected flags after "--", got ${names} before "--", which npm does not pass on; run: npm run ${name} -- ${[...used, ...flags].map(typed).join(' ')}`,
  )
}

/** Rejects a flag given as another flag's value. `--as --dry-run` would ignore `--dry-run` and spend credits. */
export function refuseFlagsAsValues(program: Command, args: readonly string[]): void {
  const known = new Map(program.options.map((option) => [option.long, option]))
  for (const [index, word] of args.entries()) {
    const next = args[index + 1] ?? ''
    const isFlag = known.has(next.replace(/=.*$/s, ''))
    if (known.get(word)?.required !== true || !isFlag) continue
    throw new Misuse(
      `expected a value for ${word}, got ${next}, which is another flag; type ${typed(`${word}=${next}`)} to use it as the value`,
    )
  }
}
