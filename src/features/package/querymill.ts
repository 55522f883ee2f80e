// Program of the package: finds a command by name and runs it.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { Argument, Command, CommanderError } from 'commander'
import { z } from 'zod'
import { print } from '../../base/cli/command.ts'
import { commands, groups } from '../../base/cli/commands.ts'
import { exits } from '../../base/errors.ts'
import { root } from '../../base/root.ts'

const manifest = z.object({ version: z.string() })

type Load = (name: string) => Promise<unknown>

/** Runs the command that was typed; without one, lists the commands. */
export async function dispatch(load: Load): Promise<void> {
  const typed = process.argv.slice(2)
  try {
    await buildProgram(load).parseAsync(typed.length === 0 ? ['--help'] : typed, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    process.exitCode = error.exitCode === 0 ? exits.done : exits.usage
  }
}

const [everyDay = '', ...others] = Object.keys(groups)

function buildProgram(load: Load): Command {
  const program = new Command('npx querymill')
    .usage('COMMAND [flags]')
    .helpOption('-h, --help', 'show this help')
    .version(readVersion(), '--version', 'show the version')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('npx querymill --help lists all commands')
    .addHelpText('after', otherCommands())
  for (const [name, { about }] of commands) {
    const hidden = groups[everyDay]?.[name] === undefined
    // The program of the command reads its own flags.
    program
      .command(name, { hidden })
      .description(about)
      .helpGroup(`${everyDay}:`)
      .helpOption(false)
      .allowUnknownOption()
      .allowExcessArguments()
      .passThroughOptions()
      .action(async () => runNamed(name, load))
  }
  program.command('help [command]', { hidden: true }).action(async (name = '') => {
    if (name === '') program.help()
    if (!commands.has(name)) program.error(`error: unknown command '${name}'`)
    process.argv.splice(2, Infinity, name, '--help')
    await runNamed(name, load)
  })
  program
    .command('completion', { hidden: true })
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: keyof typeof completions) => print(completions[shell]))
  return program
}

/** Lists the names of all commands that are not for everyday use, by purpose. */
function otherCommands(): string {
  const width = Math.max(...others.map(({ length }) => length)) + 1
  const lines = others.map(
    (title) => `  ${`${title}:`.padEnd(width)}  ${Object.keys(groups[title] ?? {}).join(', ')}`,
  )
  return [
    '',
    'Others:',
    ...lines,
    '',
    'npx querymill help COMMAND explains one, with examples.',
    'npx querymill completion bash (zsh, fish) prints a script that completes commands and flags.',
    'Settings come from the environment or from .env in this folder; the program keeps its data in .querymill here.',
  ].join('\n')
}

const shells = ['bash', 'zsh', 'fish'] as const
const names = [...commands.keys()].join(' ')
const flagsOf = (name: string) =>
  `querymill ${name} --help 2>/dev/null | grep -oE -- '--[a-z-]+' | sort -u`

/** A script for each shell: the first word is a command, a word that begins with - is a flag, others are files. */
const completions: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `_querymill() {
  local word=\${COMP_WORDS[COMP_CWORD]} words
  if [ "$COMP_CWORD" = 1 ]; then words='${names}'
  elif [[ $word == -* ]]; then words=$(${flagsOf('"${COMP_WORDS[1]}"')})
  else mapfile -t COMPREPLY < <(compgen -f -- "$word"); return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _querymill querymill`,
  zsh: `#compdef querymill
_querymill() {
  if (( CURRENT == 2 )); then compadd ${names}
  elif [[ $PREFIX == -* ]]; then compadd -- \${(f)"$(${flagsOf('$words[2]')})"}
  else _files
  fi
}
compdef _querymill querymill`,
  fish: `complete -c querymill -f -n __fish_use_subcommand -a '${names}'
complete -c querymill -n 'not __fish_use_subcommand' -a '(${flagsOf('(commandline -opc)[2]').replaceAll("'", '"')})'`,
}

/** Runs a command in this process, or in a child process with its memory limits. */
async function runNamed(name: string, load: Load): Promise<void> {
  const { bounds = [] } = commands.get(name) ?? {}
  if (bounds.every((bound) => process.execArgv.includes(bound))) {
    process.argv.splice(2, 1)
    await load(name)
    return
  }
  process.exitCode = await runBounded(bounds)
}

function readVersion(): string {
  return manifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).version
}

/** Runs the same command in a child process with memory limits, which can only be set on startup. */
function runBounded(bounds: readonly string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, ...bounds, ...process.argv.slice(1)],
    {
      stdio: 'inherit',
    },
  )
  // Ctrl-C in a terminal reaches both processes; forwarding it too would abort the command.
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
