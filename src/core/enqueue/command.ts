// The enqueue command: shows progress, asks for confirmation, and prints the result.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { openMill } from '../mill.ts'
import { enqueue, expectWithin, type EnqueuePrompts } from './enqueue.ts'
import { askPerson, type EnqueueFlags, openIntake } from './flags.ts'
import type { EnqueueReport } from './result.ts'

export async function runEnqueue(call: Call<EnqueueFlags>): Promise<Exit> {
  const { options: flags, args, env, closers } = call
  const config = readConfig(env)
  const intake = await openIntake({ args, flags, env, config, stream: process.stdin })
  const mill = await openMill({ config, closers, say, name: 'enqueue' })
  const progress = new Progress()
  const prompts = promptsOf(call, progress)
  const report = await enqueue({ mill, intake, flags, prompts })
  progress.clear()
  showEnd(report, flags)
  if (flags.dryRun !== true || report === null) return exits.done
  expectWithin(report, intake.maxCredits)
  // A preview's exit code shows whether the plan fits within the balance and the credit floor.
  return mill.supplier.origin === 'test' || fits(report) ? exits.done : exits.stopped
}

function fits({ balance, estimate }: EnqueueReport): boolean {
  if (estimate.basis === 'nothing to buy' || balance.after === null) return true
  return balance.after >= balance.floor
}

function promptsOf({ options, args }: Call<EnqueueFlags>, progress: Progress): EnqueuePrompts {
  const above = (write: (line: string) => void) => (line: string) => {
    progress.clear()
    write(line)
  }
  const person = process.stdin.isTTY && process.stderr.isTTY && !args.includes('-')
  return {
    say: above(say),
    show: above(options.json === true ? say : print),
    progress: progress.note,
    ask: person ? askPerson : null,
  }
}

function showEnd(report: EnqueueReport | null, { json }: EnqueueFlags): void {
  if (report === null) say('nothing was queued')
  else if (json === true) printJson(report)
  else if (report.dry_run) print('dry run: nothing was written or queued')
  else print(`next        ${report.open ? `${npmRun('work --')} --drain` : npmRun('status')}`)
}

/** Shows progress on stderr: one updating line on a terminal, otherwise one line every 10 s. */
class Progress {
  readonly #isTerminal = process.stderr.isTTY
  // On a terminal, the first line appears at once. Elsewhere, short operations print no progress.
  #shownAt = this.#isTerminal ? 0 : Date.now()
  #isLive = false

  readonly note = (text: string): void => {
    const now = Date.now()
    if (now - this.#shownAt < (this.#isTerminal ? 100 : 10_000)) return
    this.#shownAt = now
    this.#isLive = this.#isTerminal
    process.stderr.write(this.#isLive ? `\r\u001b[2K${text}` : `${text}\n`)
  }

  clear(): void {
    if (this.#isLive) process.stderr.write('\r\u001b[2K')
    this.#isLive = false
  }
}
