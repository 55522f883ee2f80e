// The `querymill` program: finds a command by name and runs it.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { Command, CommanderError, Help } from 'commander'
import { endWithReader } from '../../base/cli/command.ts'
import { commands, groups, namesIn, programName } from '../../base/cli/commands.ts'
import { exits } from '../../base/errors.ts'
import { root } from '../../base/root.ts'

type Load = (name: string) => Promise<unknown>

export async function dispatch(load: Load): Promise<void> {
  endWithReader()
  const typed = wholeWords(process.argv.slice(2))
  process.argv.splice(2, Infinity, ...typed)
  try {
    await buildProgram(load).parseAsync(typed, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? exits.done : exits.usage
  }
}

/**
 * Turns `help work` into `work --help`, and adds a group's default command: `service --port 80` becomes
 * `service start --port 80`.
 */
function wholeWords(typed: readonly string[]): readonly string[] {
  const [first = 'help', second, third] = typed
  const group = groups.find(({ word }) => word === (first === 'help' ? second : first))
  if (first !== 'help') {
    const as = group?.commands[first]?.as
    return as === undefined || second?.startsWith('-') === false
      ? typed
      : [first, as, ...typed.slice(1)]
  }
  if (second === undefined) return ['--help']
  const isKnown =
    group === undefined ? commands.has(second) : third === undefined || namesIn(group).has(third)
  return [...typed.slice(1), ...(isKnown ? ['--help'] : [])]
}

const [everyDay, ...others] = groups

function buildProgram(load: Load): Command {
  // The help lists only everyday commands, but suggestions for misspelt words include all commands.
  let isShown = false
  const program = new Command(programName)
  program
    .configureHelp({
      prepareContext(options) {
        Help.prototype.prepareContext.call(this, options)
        isShown = true
      },
      visibleCommands(shown) {
        const all = Help.prototype.visibleCommands.call(this, shown)
        if (!isShown || shown !== program) return all
        return all.filter((one) => everyDay?.commands[one.name()] !== undefined)
      },
    })
    .usage('COMMAND [flags]')
    .helpOption('-h, --help', 'show this help')
    .version(readVersion(), '--version', 'show the version')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError(`${programName} --help lists all commands`)
    .addHelpText('after', otherCommands())
  for (const name of commands.keys()) {
    if (groups.every(({ word }) => word !== name))
      addCommand(program, name, { load, starts: [name] })
  }
  for (const group of groups) {
    const { word, title } = group
    if (word === undefined) continue
    const within = program
      .command(word)
      .usage('NAME [flags]')
      .description(`${title}: ${[...namesIn(group).keys()].join(', ')}`)
      .helpOption('-h, --help', 'show this help')
      .helpCommand(false)
      .addHelpText('after', `\n${programName} help ${word} NAME explains a command, with examples.`)
    for (const [name, starts] of namesIn(group)) addCommand(within, name, { load, starts })
  }
  return program
}

/** Adds a subcommand that runs a command with preset flags. The command parses all other flags. */
function addCommand(
  parent: Command,
  word: string,
  { load, starts }: { readonly load: Load; readonly starts: readonly string[] },
): void {
  const [name = '', ...flags] = starts
  const isMember = parent.parent !== null
  const { about = '', bounds = [] } = commands.get(name) ?? {}
  parent
    .command(word)
    .description(flags.length === 0 ? about : starts.join(' '))
    .helpGroup(isMember ? 'Commands:' : `${everyDay?.title}:`)
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions()
    .action(async () => {
      if (!bounds.every((bound) => process.execArgv.includes(bound))) {
        process.exitCode = await runBounded(bounds)
        return
      }
      process.argv.splice(2, isMember ? 2 : 1, ...flags)
      await load(name)
    })
}

function otherCommands(): string {
  const titles = others.map(({ word, title }) => word ?? `${title}:`)
  const width = Math.max(...titles.map(({ length }) => length))
  const lines = others.map(
    (group, at) => `  ${titles[at]?.padEnd(width)}  ${[...namesIn(group).keys()].join(', ')}`,
  )
  return [
    '',
    'Others:',
    ...lines,
    '',
    `The group name can be omitted: ${programName} retry is the same as ${programName} run retry.`,
    `${programName} help COMMAND explains a command, with examples.`,
    'Settings come from the environment or from .env in this folder; the program stores its data in .querymill in the same folder.',
  ].join('\n')
}

function readVersion(): string {
  // The file is not parsed with the library that checks JSON, because loading that library would double the time it
  // takes to show help.
  const manifest = readFileSync(join(root, 'package.json'), 'utf8')
  return /^ {2}"version": "(.+)"/m.exec(manifest)?.[1] ?? 'unknown'
}

/** Runs the same command in a child process, because memory limits can only be set when a process starts. */
function runBounded(bounds: readonly string[]): Promise<number> {
  const line = [...process.execArgv, ...bounds, ...process.argv.slice(1)]
  const child = spawn(process.execPath, line, { stdio: 'inherit' })
  // Ctrl-C reaches both processes. If the signal were forwarded as well, the child process would receive it twice and
  // abort.
  process.on('SIGINT', () => undefined)
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal))
  }
  return new Promise((done, refuse) => {
    child.once('error', refuse)
    child.once('exit', (code, signal) =>
      done(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  })
}
