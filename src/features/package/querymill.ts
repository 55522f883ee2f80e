// The `querymill` program: finds a command by name and runs it.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { Argument, Command, CommanderError, Help } from 'commander'
import { endWithReader, print } from '../../base/cli/command.ts'
import { commands, type Group, groups, namesIn, programName } from '../../base/cli/commands.ts'
import { exits } from '../../base/errors.ts'
import { root } from '../../base/root.ts'

type Load = (name: string) => Promise<unknown>

/** Runs the command that was typed. If no command was typed, lists the commands. */
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

/** Turns `help work` into `work --help`, and a group's own word: `service --port 80` into `service start --port 80`. */
function wholeWords(typed: readonly string[]): readonly string[] {
  const [first = 'help', second = '-'] = typed
  if (first === 'help') return asHelp(typed.slice(1))
  const as = groups.find(({ word }) => word === first)?.commands[first]?.as
  return as === undefined || !second.startsWith('-') ? typed : [first, as, ...typed.slice(1)]
}

/** Adds `--help` to the words after `help`. An unknown word stays as it is, and is rejected with a suggestion. */
function asHelp(typed: readonly string[]): readonly string[] {
  const [word, name] = typed
  if (word === undefined) return ['--help']
  const group = groups.find((one) => one.word === word)
  const isKnown =
    group === undefined ? commands.has(word) : name === undefined || namesIn(group).has(name)
  return isKnown ? [...typed, '--help'] : typed
}

const [everyDay, ...others] = groups

/** Help page that lists only the everyday commands. For a misspelt word, the suggestions include all commands. */
class FirstPage extends Help {
  #shown = false

  override prepareContext(options: Parameters<Help['prepareContext']>[0]): void {
    super.prepareContext(options)
    this.#shown = true
  }

  override visibleCommands(program: Command): Command[] {
    const all = super.visibleCommands(program)
    if (!this.#shown) return all
    return all.filter((one) => everyDay?.commands[one.name()] !== undefined)
  }
}

class Program extends Command {
  override createHelp(): Help {
    return new FirstPage()
  }
}

function buildProgram(load: Load): Command {
  const program = new Program(programName)
    .usage('COMMAND [flags]')
    .helpOption('-h, --help', 'show this help')
    .version(readVersion(), '--version', 'show the version')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError(`${programName} --help lists all commands`)
    .addHelpText('after', otherCommands())
  for (const [name, { about }] of commands) {
    const isWord = groups.some(({ word }) => word === name)
    if (!isWord) addCommand(program, name, { about, load, starts: [name] })
  }
  for (const group of groups) addGroup(program, group, load)
  program
    .command('completion', { hidden: true })
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: keyof typeof completions) => print(completions[shell]))
  return program
}

interface Leaf {
  readonly about: string
  readonly load: Load
  /** The command that the word starts, followed by the flags that it adds. */
  readonly starts: readonly string[]
}

function addGroup(program: Command, group: Group, load: Load): void {
  const { word, title } = group
  if (word === undefined) return
  const within = program
    .command(word)
    .usage('NAME [flags]')
    .description(`${title}: ${[...namesIn(group).keys()].join(', ')}`)
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .addHelpText('after', `\n${programName} help ${word} NAME explains a command, with examples.`)
  for (const [name, starts] of namesIn(group)) {
    const [command = '', flag] = starts
    const { about = '' } = commands.get(command) ?? {}
    addCommand(within, name, {
      load,
      starts,
      about: flag === undefined ? about : `${command} ${flag}`,
    })
  }
}

/** Adds a word that starts a command. The flags are read by the command's own program. */
function addCommand(parent: Command, word: string, { about, load, starts }: Leaf): void {
  const [name = '', ...flags] = starts
  const depth = parent.parent === null ? 1 : 2
  parent
    .command(word)
    .description(about)
    .helpGroup(parent.parent === null ? `${everyDay?.title}:` : 'Commands:')
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions()
    .action(async () => runNamed(name, { load, depth, flags }))
}

/** Lists the commands that are not for everyday use, after their group's word or by purpose. */
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
    `The group name may be left out: ${programName} retry is the same as ${programName} run retry.`,
    `${programName} help COMMAND explains a command, with examples.`,
    `${programName} completion bash (zsh, fish) prints a script that completes commands and flags.`,
    'Settings come from the environment or from .env in this folder; the program keeps its data in .querymill here.',
  ].join('\n')
}

const shells = ['bash', 'zsh', 'fish'] as const
const words = new Map(
  groups.flatMap((group) =>
    group.word === undefined ? [] : [[group.word, [...namesIn(group).keys()].join(' ')] as const],
  ),
)
const names = [...new Set([...commands.keys(), ...words.keys()])].join(' ')
const flagsOf = (path: string) =>
  `querymill ${path} --help 2>/dev/null | grep -oE -- '--[a-z-]+' | sort -u`
const cases = (line: (word: string, members: string) => string) =>
  [...words].map(([word, members]) => line(word, members)).join('\n')

/** A script for each shell. It completes commands and groups, then a group's commands, flags after -, or files. */
const completions: Readonly<Record<(typeof shells)[number], string>> = {
  bash: `_querymill() {
  local word=\${COMP_WORDS[COMP_CWORD]} words group=
  case \${COMP_WORDS[1]} in
${cases((word, members) => `    ${word}) group='${members}' ;;`)}
  esac
  local named=("\${COMP_WORDS[1]}")
  if [ -n "$group" ] && [ "$COMP_CWORD" -gt 2 ] && [[ \${COMP_WORDS[2]} != -* ]]; then named+=("\${COMP_WORDS[2]}"); fi
  if [ "$COMP_CWORD" = 1 ]; then words='${names}'
  elif [[ $word == -* ]]; then words=$(${flagsOf('"${named[@]}"')})
  elif [ "$COMP_CWORD" = 2 ] && [ -n "$group" ]; then words=$group
  else mapfile -t COMPREPLY < <(compgen -f -- "$word"); return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _querymill querymill`,
  zsh: `#compdef querymill
_querymill() {
  local group= named=($words[2])
  case $words[2] in
${cases((word, members) => `    ${word}) group='${members}' ;;`)}
  esac
  if [[ -n $group && CURRENT -gt 3 && $words[3] != -* ]]; then named+=($words[3]); fi
  if (( CURRENT == 2 )); then compadd ${names}
  elif [[ $PREFIX == -* ]]; then compadd -- \${(f)"$(${flagsOf('$named')})"}
  elif [[ -n $group && CURRENT -eq 3 ]]; then compadd \${=group}
  else _files
  fi
}
compdef _querymill querymill`,
  fish: `complete -c querymill -f -n __fish_use_subcommand -a '${names}'
${cases((word, members) => `complete -c querymill -f -n 'test (count (commandline -opc)) -eq 2; and __fish_seen_subcommand_from ${word}' -a '${members}'`)}
complete -c querymill -n 'not __fish_use_subcommand' -a '(${flagsOf('(commandline -opc)[2..3]').replaceAll("'", '"')})'`,
}

interface Start {
  readonly load: Load
  /** Number of typed words that name the command. */
  readonly depth: number
  readonly flags: readonly string[]
}

/** Runs a command in this process, or in a child process if the command has memory limits that this process lacks. */
async function runNamed(name: string, { load, depth, flags }: Start): Promise<void> {
  const { bounds = [] } = commands.get(name) ?? {}
  if (bounds.every((bound) => process.execArgv.includes(bound))) {
    process.argv.splice(2, depth, ...flags)
    await load(name)
    return
  }
  process.exitCode = await runBounded(bounds)
}

function readVersion(): string {
  // Not parsed with the library that checks JSON, because loading it would double the time it takes to show help.
  const manifest = readFileSync(join(root, 'package.json'), 'utf8')
  return /^ {2}"version": "(.+)"/m.exec(manifest)?.[1] ?? 'unknown'
}

/** Runs the same command in a child process, because memory limits can only be set when a process starts. */
function runBounded(bounds: readonly string[]): Promise<number> {
  const line = [...process.execArgv, ...bounds, ...process.argv.slice(1)]
  const child = spawn(process.execPath, line, { stdio: 'inherit' })
  // Ctrl-C reaches both processes. If it were forwarded as well, the child process would get it twice and abort.
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
