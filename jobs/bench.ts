import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import type { MillFigures } from '../test/bench/mill.ts'

interface Options {
  readonly runs: string
  readonly short?: true
  readonly json?: true
}

const names = [
  'mill',
  'lists',
  'ledger',
  'growth',
  'soak',
  'service',
  'enrich',
  'analysis',
] as const
/** Below this the whole wastes what its parts save; a short run on a busy machine is told no more. */
const leastCpuRatio = 0.6

await runCommand<Options>(
  {
    name: 'bench',
    about: 'Measures this code on this machine, with servers of its own on the loopback.',
    examples: [
      'npm run bench                     the mill: each part, the whole, two plain ways beside it',
      'npm run bench -- lists            reading and planning lists',
      'npm run bench -- ledger           gate and ledger beside the whole',
      'npm run bench -- growth           storing into empty and into full tables',
      'npm run bench -- soak             memory over 200,000 queries with 500 lanes',
      'npm run bench -- service          the search service; also: enrich, analysis',
      'npm run -s bench -- --short --json',
    ],
    define: (program) =>
      program
        .argument('[name]', `one of ${names.join(', ')}`, 'mill')
        .option('--runs <n>', 'take the median of so many runs', '3')
        .option('--short', 'small numbers and CPU only: what a busy machine can still tell')
        .option('--json', 'print the figures as one JSON object'),
  },
  async ({ options, args }) => {
    const [name = 'mill'] = args
    const runs = options.short === true ? 1 : Number(options.runs)
    if (!Number.isSafeInteger(runs) || runs < 1) {
      throw new Misuse(`expected --runs to be a whole number from 1 up, got ${options.runs}`)
    }
    const json = options.json === true
    const figures = await measure(name, { runs, short: options.short === true, json })
    if (options.json === true) printJson(figures)
    return isWasteful(figures) ? exits.failures : exits.done
  },
)

function isWasteful(figures: unknown): boolean {
  if (typeof figures !== 'object' || figures === null || !('ratios' in figures)) return false
  const { cpu } = figures.ratios as { cpu: number }
  if (cpu >= leastCpuRatio) return false
  say(`expected the parts to cost at least ${leastCpuRatio} of the whole, got ${cpu.toFixed(2)}`)
  return true
}

interface How {
  readonly runs: number
  readonly short: boolean
  readonly json: boolean
}

/** Figures of one kind, for people. */
function tell<T extends object>(figures: T, { json }: How): T {
  if (!json) print(JSON.stringify(figures, null, 2))
  return figures
}

async function measure(name: string, how: How): Promise<unknown> {
  switch (name) {
    case 'mill': {
      const { benchMill } = await import('../test/bench/mill.ts')
      const figures = await benchMill({ ...how, say })
      // With --json the data is JSON alone.
      if (!how.json) await show(figures)
      return figures
    }
    case 'ledger':
      return tell(await (await import('../test/bench/ledger.ts')).benchLedger(how), how)
    case 'growth': {
      const rows = how.short ? 200_000 : 2_000_000
      return tell(await (await import('../test/bench/growth.ts')).benchGrowth(rows, say), how)
    }
    case 'soak':
      return tell(
        await (await import('../test/bench/soak.ts')).benchSoak(how.short ? 10_000 : 200_000),
        how,
      )
    case 'enrich':
      return (await import('../test/bench/enrich.ts')).benchEnrich()
    case 'lists':
    case 'service':
    case 'analysis':
      return measureOnGround(name, how)
    default:
      throw new Misuse(`expected one of ${names.join(', ')}, got ${name}`)
  }
}

/** Benchmarks that bring their own work and need a database to do it on. */
async function measureOnGround(
  name: 'lists' | 'service' | 'analysis',
  { short }: How,
): Promise<unknown> {
  const { openGround } = await import('../test/bench/ground.ts')
  const ground = await openGround()
  try {
    const databaseUrl = await ground.freshUrl()
    if (name === 'lists') {
      const { benchLists } = await import('../test/bench/lists.ts')
      return await benchLists({ databaseUrl, rows: short ? 100_000 : 1_000_000, say })
    }
    if (name === 'service')
      return await (await import('../test/bench/service.ts')).benchService(databaseUrl)
    const { benchAnalysis, describeAnalysis } = await import('../test/bench/analysis.ts')
    const server = ground.postgres.pid
    const figures = await benchAnalysis({ databaseUrl, server, queries: short ? 100 : 1000, say })
    say(describeAnalysis(figures))
    return figures
  } finally {
    await ground.close()
  }
}

async function show(figures: MillFigures): Promise<void> {
  const { formatTable } = await import('../src/shared/terminal/table.ts')
  const parts = Object.entries(figures.components).map(([name, part]) => [
    name,
    part.node.toFixed(0),
    part.postgres.toFixed(0),
    part.redis.toFixed(0),
    part.sum.toFixed(0),
    part.perSecond.toFixed(0),
    part.foreign.toFixed(2),
  ])
  const heads = ['part', 'node us', 'postgres us', 'redis us', 'sum us', 'a second', 'foreign']
  print(formatTable(heads, parts, { right: heads.slice(1) }))
  const whole = Object.entries(figures.whole).map(([name, one]) => [
    name,
    (one.node / one.queries).toFixed(0),
    (one.postgres / one.queries).toFixed(0),
    (one.redis / one.queries).toFixed(0),
    one.cpu.toFixed(0),
    one.perSecond.toFixed(0),
    one.foreign.toFixed(2),
  ])
  print(`\n${formatTable(['the whole', ...heads.slice(1)], whole, { right: heads.slice(1) })}`)
  const plain = Object.entries(figures.plain).map(([name, one]) => [
    name,
    one.cpu.toFixed(0),
    one.perSecond.toFixed(0),
  ])
  if (plain.length > 0) print(`\n${formatTable(['a plain way', 'cpu us', 'a second'], plain)}`)
  const ratios = Object.entries(figures.ratios).map(([name, ratio]) => [
    name,
    ratio?.toFixed(2) ?? '',
  ])
  print(`\n${formatTable(['ratio', 'value'], ratios)}`)
  print(
    `\ncomposite limit of two cores ${figures.composite_limit.toFixed(0)} queries a second; others used ${figures.foreign.toFixed(2)} cores; largest memory of a worker with 500 lanes ${figures.rss ?? '?'} MB`,
  )
}
