// The enqueue command: shows progress, asks for confirmation, and prints the result.

import { createInterface } from 'node:readline/promises'
import { npmRun } from '../../base/cli/commands.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { openMill } from '../mill.ts'
import { enqueue, expectWithin } from './enqueue.ts'
import { type EnqueueFlags, openIntake } from './flags.ts'
import type { EnqueueReport } from './result.ts'

export async function runEnqueue(call: Call<EnqueueFlags>): Promise<Exit> {
  const { options: flags, args, env, closers } = call
  const config = readConfig(env)
  const intake = await openIntake({ args, flags, env, config, stream: process.stdin })
  const mill = await openMill({ config, closers, say, name: 'enqueue' })
  const progress = createProgress()
  const above = (write: (line: string) => void) => (line: string) => {
    progress.clear()
    write(line)
  }
  const isPerson = process.stdin.isTTY && process.stderr.isTTY && !args.includes('-')
  const prompts = {
    say: above(say),
    show: above(flags.json === true ? say : print),
    progress: (text: string) => progress.note(text),
    ask: isPerson ? askPerson : null,
  }
  const report = await enqueue({ mill, intake, flags, prompts })
  progress.clear()
  showEnd(report, flags)
  if (flags.dryRun !== true || report === null) return exits.done
  expectWithin(report, intake.maxCredits)
  // A preview's exit code shows whether the credits above the floor cover the cost of the plan.
  return mill.supplier.origin === 'test' || fits(report) ? exits.done : exits.stopped
}

function fits({ balance, estimate }: EnqueueReport): boolean {
  if (estimate.basis === 'nothing to buy' || balance.after === null) return true
  return balance.after >= balance.floor
}

function showEnd(report: EnqueueReport | null, { json }: EnqueueFlags): void {
  if (report === null) say('nothing was queued')
  else if (json === true) printJson(report)
  else if (report.dry_run) print('dry run: nothing was written or queued')
  else print(`next        ${report.open ? `${npmRun('work --')} --drain` : npmRun('status')}`)
}

/** Any answer other than yes counts as no. */
async function askPerson(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim())
  } finally {
    lines.close()
  }
}

/** Shows progress on stderr: one updating line on a terminal, otherwise one line every 10 s. */
function createProgress() {
  const isTerminal = process.stderr.isTTY
  // On a terminal, the first line appears immediately. Otherwise, short operations print no progress.
  let shownAt = isTerminal ? 0 : Date.now()
  let isLive = false
  return {
    note(text: string): void {
      const now = Date.now()
      if (now - shownAt < (isTerminal ? 100 : 10_000)) return
      shownAt = now
      isLive = isTerminal
      process.stderr.write(isLive ? `\r\u001b[2K${text}` : `${text}\n`)
    },
    clear(): void {
      if (isLive) process.stderr.write('\r\u001b[2K')
      isLive = false
    },
  }
}
