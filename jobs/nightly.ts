import { callerPath, readConfig, type Config, type Environment } from '../src/shared/config.ts'
import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { exits, type Exit } from '../src/shared/errors.ts'
import type { Mill } from '../src/commands/mill/mill.ts'
import type { Scheduler } from '../src/commands/nightly/scheduler.ts'

interface Options {
  readonly show?: true
  readonly once?: true
  readonly json?: true
  readonly file?: string
}

await runCommand<Options>(
  {
    name: 'nightly',
    about: 'Plans the runs of inputs/config/schedules.csv when they are due.',
    drains: true,
    examples: [
      'npm run nightly                             the scheduler; any number of them may run',
      'npm run nightly -- --show                   schedules, their next times, what became of the last one',
      'npm run nightly -- --once                   does what is due and ends: for cron or a systemd timer',
      'npm run -s nightly -- --show --json',
    ],
    define: (program) =>
      program
        .option('--show', 'list the schedules and end')
        .option('--once', 'do what is due and end')
        .option('--json', 'with --show: print one JSON object')
        .option('--file <path>', 'another file of schedules'),
  },
  async ({ options, env, closers, signal }) => {
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const mill = await openMill({ config, closers, say, name: 'nightly', connections: 4 })
    const file = await fileOf(options, env)
    if (options.show === true) return show(mill, file, options.json === true)
    const { openLog } = await import('../src/shared/log.ts')
    const log = await openLog('nightly', secretsOf(config))
    const scheduling = await import('../src/commands/nightly/scheduler.ts')
    const tell = options.once === true ? say : (line: string) => log.info(line)
    const scheduler = new scheduling.Scheduler(mill, { file, tell })
    if (options.once === true) {
      try {
        await scheduler.tick()
      } finally {
        await scheduler.close()
      }
      return scheduler.usable ? exits.done : exits.usage
    }
    return keepRunning(mill, scheduler, { signal, tell })
  },
)

async function fileOf({ file }: Options, env: Environment): Promise<string> {
  const { schedulesFile } = await import('../src/commands/nightly/file.ts')
  return file === undefined ? schedulesFile : callerPath(env, file)
}

function secretsOf({ api }: Config) {
  return api === null ? [] : [api.key]
}

async function show(mill: Mill, file: string, json: boolean): Promise<Exit> {
  const { loadSchedules } = await import('../src/commands/nightly/file.ts')
  const { readNightOutlook } = await import('../src/commands/nightly/outlook.ts')
  const { formatNights, nightsJson } = await import('../src/commands/nightly/show.ts')
  const plan = await loadSchedules(mill.db, { file, zone: mill.config.zone })
  const outlook = await readNightOutlook(mill.db, plan)
  if (json) printJson(nightsJson(outlook))
  else print(formatNights(outlook))
  return plan.schedules.length === 0 && plan.refusals.length > 0 ? exits.usage : exits.done
}

async function keepRunning(
  mill: Mill,
  scheduler: Scheduler,
  options: { signal: AbortSignal; tell: (line: string) => void },
): Promise<Exit> {
  const { keepTime } = await import('../src/commands/nightly/clock.ts')
  const { startMonitor } = await import('../src/commands/monitor/monitor.ts')
  const problems = () => (scheduler.trouble === null ? [] : ['the last tick was not done'])
  const monitor = await startMonitor(mill, { tell: options.tell, problems })
  try {
    await keepTime(mill, scheduler, options)
  } finally {
    await monitor.close()
  }
  return options.signal.reason === 'SIGINT' ? exits.interrupted : exits.done
}
