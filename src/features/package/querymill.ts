// Program of the package: finds a command by name and runs it.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { print, say } from '../../base/cli/command.ts'
import { commands, groups } from '../../base/cli/commands.ts'
import { exits } from '../../base/errors.ts'
import { root } from '../../base/root.ts'

const manifest = z.object({ version: z.string() })

/** A typed command, and how to load its program. */
interface Typing {
  readonly name: string | undefined
  readonly load: (name: string) => Promise<unknown>
}

/** Runs the named command; without a name, lists all commands. */
export async function dispatch({ name, load }: Typing): Promise<void> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    print(manual())
    return
  }
  if (name === '--version') {
    print(readVersion())
    return
  }
  const command = commands.get(name)
  if (command === undefined) {
    const got = JSON.stringify(name)
    say(`error: expected a command, got ${got}; npx querymill --help shows them all`)
    process.exitCode = exits.usage
    return
  }
  const { bounds = [] } = command
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

function manual(): string {
  const width = Math.max(...[...commands.keys()].map(({ length }) => length))
  const sections = Object.entries(groups).flatMap(([title, group]) => [
    '',
    `${title}:`,
    ...Object.entries(group).map(([name, { about }]) => `  ${name.padEnd(width)}  ${about}`),
  ])
  return [
    'Usage: npx querymill COMMAND [flags]',
    ...sections,
    '',
    'npx querymill COMMAND --help explains one, with examples.',
    'Settings come from the environment or from .env in this folder; the program keeps its data in .querymill here.',
  ].join('\n')
}
