import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { type Exit, exits, unhandled } from '../src/shared/errors.ts'
import type { Mill } from '../src/commands/mill/mill.ts'
import type { Finish, Summary } from '../src/commands/work/tally.ts'
import type { Worker } from '../src/commands/work/worker.ts'

interface Options {
  readonly drain?: true
  readonly concurrency?: string
  readonly json?: true
}

const reportMs = 10_000

/** What health checks and metrics ask of the worker, once there is one. */
function lookInto(worker: () => Worker | null) {
  return {
    problems: () =>
      worker() === null ? ['the worker is starting'] : (worker()?.outages.list() ?? []),
    counted: () => worker()?.tally.sum('interrupted') ?? nothingYet,
  }
}

const nothingYet = { answered: 0, reused: 0, failed: 0, unknown: 0 }

const reasons: Readonly<Record<Finish, string>> = {
  completed: 'nothing is left to do',
  credit_floor: 'stopped at the credit floor; top up, then: npm run resume',
  budget: 'the budget of the day is used up; raise MILL_DAILY_BUDGET, or wait for the next day',
  auth: 'the API refused the key; set another SEARCH_API_KEY, or: npm run resume',
  stalled: 'the API only ever asks to slow down; try again later',
  unreachable: 'the database, the queue or the API is out of reach',
  interrupted: 'stopped; the same command goes on from here',
}

await runCommand<Options>(
  {
    name: 'work',
    about: 'Buys an answer for each open task, and stores it.',
    drains: true,
    examples: [
      'npm run work                                works until stopped, waits at a stop',
      'npm run work -- --drain                     ends when nothing is left to do',
      'npm run -s work -- --drain --json           the same, with its sums as JSON',
      'npm run work -- --concurrency 32            calls in flight at once',
    ],
    define: (program) =>
      program
        .option('--drain', 'end when no task is open, or when the account stands still')
        .option('--concurrency <n>', 'calls in flight at once (MILL_CONCURRENCY)')
        .option('--json', 'print the sums as one JSON object'),
  },
  async ({ options, env, closers, signal }) => {
    const flags = options.concurrency === undefined ? {} : { MILL_CONCURRENCY: options.concurrency }
    const config = readConfig(env, flags)
    const { openMill, workerPool } = await import('../src/commands/mill/mill.ts')
    const { work } = await import('../src/commands/work/work.ts')
    const mill = await openMill({ config, closers, say, name: 'worker', ...workerPool })
    const drain = options.drain === true
    // A service writes a log; a drain is a command that somebody waits for.
    const { openLog } = await import('../src/shared/log.ts')
    const log = drain ? null : await openLog('work', config.api === null ? [] : [config.api.key])
    const tell = log === null ? say : (line: string) => log.info(line)
    const { startMonitor } = await import('../src/commands/monitor/monitor.ts')
    let worker: Worker | null = null
    const monitor = closers.add(
      'the monitor',
      await startMonitor(mill, {
        tell,
        ...lookInto(() => worker),
        more: async () => (await mill.queue()).metrics(),
      }),
      (started) => started.close(),
    )
    let reported = performance.now()
    const summary = await work(mill, {
      drain,
      lanes: config.concurrency,
      signal,
      tell,
      onCall: monitor.observe,
      onTick: (current) => {
        worker = current
        const { tally, dispatch } = current
        if (performance.now() - reported < reportMs) return
        reported = performance.now()
        const left = tally.remaining === null ? '' : ` · ${tally.remaining} credits left`
        const still =
          dispatch.standstill === null ? '' : ` · stands still: ${dispatch.standstill.detail}`
        tell(`${tally.answered} answered · ${dispatch.flying} in flight${left}${still}`)
      },
    })
    if (options.json === true) printJson(summary)
    tell(lastLine(summary, mill.supplier.origin, await stopSince(mill, summary)))
    return exitOf(summary, signal)
  },
)

/** Since when the stop stands that ended the work; empty when none did. */
async function stopSince(mill: Mill, { finish }: Summary): Promise<string> {
  if (finish !== 'credit_floor' && finish !== 'auth' && finish !== 'budget') return ''
  const { readAccount } = await import('../src/store/operator/status.ts')
  const { account: name, origin: kind } = mill.supplier
  const account = await readAccount(mill.db, { name, kind })
  const stop = account?.stops.find(({ reason }) => reason === finish)
  return stop === undefined ? '' : ` (since ${stop.since})`
}

function lastLine(summary: Summary, origin: string, since: string): string {
  const { answered, reused, failed, unknown, unreadable, calls, credits_used: used } = summary
  const left = summary.credits_remaining === null ? '' : `, ${summary.credits_remaining} left`
  const sandbox = origin === 'sandbox' ? 'SANDBOX, no real credits are spent: ' : ''
  const kept = unreadable === 0 ? '' : `, ${unreadable} unreadable (npm run reparse)`
  return `${sandbox}${answered} answered, ${reused} reused, ${failed} failed, ${unknown} unknown${kept}; ${calls} calls, ${used} credits used${left}; ${reasonOf(summary.finish, since)}`
}

function reasonOf(finish: Finish, since: string): string {
  // A run that has spent its own budget stops nobody else: no stop stands then.
  if (finish === 'budget' && since === '') {
    return 'the budget of a run is used up; enqueue its list again with a greater --budget'
  }
  return `${reasons[finish]}${since}`
}

function exitOf({ finish, failed, unknown, unreadable }: Summary, signal: AbortSignal): Exit {
  switch (finish) {
    case 'completed':
      return failed + unknown + unreadable > 0 ? exits.failures : exits.done
    case 'credit_floor':
    case 'budget':
      return exits.stopped
    case 'auth':
      return exits.key
    case 'stalled':
    case 'unreachable':
      return exits.unreachable
    case 'interrupted':
      return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
    default:
      throw unhandled('finish', finish)
  }
}
