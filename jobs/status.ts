import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig, type Config } from '../src/shared/config.ts'
import { exits } from '../src/shared/errors.ts'
import type { Mill } from '../src/commands/mill/mill.ts'
import type { NightSummary } from '../src/commands/nightly/outlook.ts'
import type { StatusView } from '../src/commands/status/screen.ts'
import { runNumber } from '../src/shared/terminal/flags.ts'
import { pause } from '../src/shared/waiting.ts'

interface Options {
  readonly run?: number
  readonly watch?: true
  readonly unknown?: true
  readonly settings?: true
  readonly json?: true
}

const everyMs = 2_000

await runCommand<Options>(
  {
    name: 'status',
    about: 'Shows runs, credits, why the mill stands still, and what to type next.',
    examples: [
      'npm run status',
      'npm run status -- --watch',
      'npm run status -- --unknown              calls that may have been charged without an answer',
      'npm run status -- --settings             every setting and where it came from',
      'npm run -s status -- --json',
    ],
    define: (program) =>
      program
        .option('--run <n>', 'only this run', runNumber)
        .option('--watch', 'show it again every two seconds')
        .option('--unknown', 'list calls whose outcome nobody could read')
        .option('--settings', 'list the settings and where each came from')
        .option('--json', 'print one JSON object'),
  },
  async ({ options, env, closers, signal }) => {
    const config = readConfig(env)
    if (options.settings === true) return showSettings(config, options.json === true)
    const run = options.run ?? null
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const mill = await openMill({ config, closers, say, name: 'status', connections: 2 })
    const { expectRun } = await import('../src/store/operator/known.ts')
    if (run !== null) await expectRun(mill.db, run)
    if (options.unknown === true) return showUnknown(mill, options.json === true)
    for (;;) {
      await show(await look(mill, run), options)
      if (options.watch !== true || signal.aborted) return exits.done
      await pause(everyMs)
    }
  },
)

type View = StatusView & { readonly summaries: readonly NightSummary[] }

async function look(mill: Mill, run: number | null): Promise<View> {
  const { countRuns, endedLastMinute, readAccount, readRuns } =
    await import('../src/store/operator/status.ts')
  const { account: name, origin: kind } = mill.market
  const queue = await mill.queue()
  const account = await readAccount(mill.db, { name, kind })
  const { summariseNights } = await import('../src/commands/nightly/outlook.ts')
  const { summaryLines } = await import('../src/commands/nightly/show.ts')
  const summaries = await summariseNights(mill.db)
  const runs = await readRuns(mill.db, { run, limit: 20 })
  return {
    runs,
    older: run === null ? (await countRuns(mill.db)) - runs.length : 0,
    account,
    accountName: name,
    origin: kind,
    floor: account?.floor ?? mill.config.creditFloor,
    queue: { backend: queue.backend, ...(await queue.count()) },
    endedLastMinute: await endedLastMinute(mill.db),
    nights: summaryLines(summaries),
    summaries,
  }
}

async function show(view: View, { json, watch }: Options): Promise<void> {
  if (json === true) {
    const { account, floor, accountName: name } = view
    const stop = account?.stops[0]?.reason ?? null
    const known = {
      remaining: account?.remaining ?? null,
      observed_at: account?.observed_at ?? null,
    }
    printJson({
      runs: view.runs,
      account: { ...account, name, ...known, floor, stop },
      queue: view.queue,
      nights: view.summaries,
    })
    return
  }
  const { formatStatus } = await import('../src/commands/status/screen.ts')
  if (watch === true && process.stdout.isTTY) print('\u001b[2J\u001b[H')
  print(formatStatus(view))
}

async function showUnknown(mill: Mill, json: boolean) {
  const { readUnknown } = await import('../src/store/operator/status.ts')
  const calls = await readUnknown(mill.db, 1_000)
  const { formatUnknown } = await import('../src/commands/status/screen.ts')
  if (json)
    printJson({ calls, at_risk: calls.reduce((sum, call) => sum + call.credits_at_risk, 0) })
  else print(formatUnknown(calls))
  return exits.done
}

async function showSettings({ sources }: Config, json: boolean) {
  if (json) {
    printJson(Object.fromEntries(sources))
    return exits.done
  }
  const { formatTable } = await import('../src/shared/terminal/table.ts')
  const rows = [...sources].map(([name, { shown, source }]) => [name, shown, source])
  print(formatTable(['setting', 'value', 'from'], rows))
  return exits.done
}
