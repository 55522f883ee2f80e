import { type Call, print, printJson, say } from '../../src/base/cli/command.ts'
import { countFlag } from '../../src/base/cli/flags.ts'
import { formatTable } from '../../src/base/cli/text.ts'
import { type Exit, exits, Misuse } from '../../src/base/errors.ts'
import type { MillFigures } from './mill.ts'
import { benchNames } from './names.ts'

export interface BenchOptions {
  readonly runs: string
  readonly rows?: string
  readonly beside?: string
  readonly short?: true
  readonly json?: true
}

/**
 * Below this ratio, the whole costs too much compared with its parts. A short run on a busy machine can't show more.
 */
const leastCpuRatio = 0.6

/** Measures one thing, prints its figures, and fails if the whole costs far more than its parts. */
export async function runBench({ options, args }: Call<BenchOptions>): Promise<Exit> {
  const [name = 'mill'] = args
  const short = options.short === true
  const runs = short ? 1 : countFlag('runs', options.runs)
  const json = options.json === true
  const rows = options.rows === undefined ? undefined : countFlag('rows', options.rows)
  const figures = await measure(name, { runs, short, json, rows, beside: options.beside ?? '' })
  if (json) printJson(figures)
  return isWasteful(figures) ? exits.failures : exits.done
}

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
  /** Options of benchmarks that fill tables first. */
  readonly rows: number | undefined
  /** Options of the benchmark that compares two versions. */
  readonly beside: string
}

/** Formats figures of one kind for people. */
function tell<T extends object>(figures: T, { json }: How): T {
  if (!json) print(JSON.stringify(figures, null, 2))
  return figures
}

async function measure(name: string, how: How): Promise<unknown> {
  switch (name) {
    case 'mill': {
      const { benchMill } = await import('./mill.ts')
      const figures = await benchMill({ ...how, say })
      // With --json, stdout contains only JSON.
      if (!how.json) show(figures)
      return figures
    }
    case 'ledger':
      return tell(await (await import('./ledger.ts')).benchLedger(how), how)
    case 'beside': {
      const { benchBeside } = await import('./beside.ts')
      return tell(await benchBeside({ ...how, folder: how.beside }), how)
    }
    case 'hosts':
      return tell(await (await import('./hosts.ts')).benchHosts(how.short, say), how)
    case 'growth': {
      const rows = how.short ? 200_000 : 2_000_000
      return tell(await (await import('./growth.ts')).benchGrowth(rows, say), how)
    }
    case 'soak':
      return tell(await (await import('./soak.ts')).benchSoak(how.short ? 10_000 : 200_000), how)
    case 'enrich':
      return (await import('./enrich.ts')).benchEnrich()
    case 'lists':
    case 'service':
    case 'quality':
    case 'analysis':
    case 'desk':
    case 'partitions':
    case 'repeats':
    case 'archive':
      return measureOnGround(name, how)
    default:
      throw new Misuse(`expected one of ${benchNames.join(', ')}, got ${name}`)
  }
}

type OnGround =
  | 'lists'
  | 'service'
  | 'quality'
  | 'analysis'
  | 'desk'
  | 'partitions'
  | 'repeats'
  | 'archive'

/** Benchmarks that generate their own work and need a database. */
async function measureOnGround(name: OnGround, how: How): Promise<unknown> {
  const { short } = how
  const { openGround } = await import('./ground.ts')
  const ground = await openGround()
  try {
    const databaseUrl = await ground.freshUrl()
    if (name === 'lists') {
      const { benchLists } = await import('./lists.ts')
      return await benchLists({ databaseUrl, rows: short ? 100_000 : 1_000_000, say })
    }
    if (name === 'service') return await (await import('./service.ts')).benchService(databaseUrl)
    if (name === 'quality') {
      return await (await import('./quality.ts')).benchQuality(databaseUrl, { misses: !short })
    }
    if (name === 'desk') {
      const { benchDeskOn, describeDesk } = await import('./desk.ts')
      const figures = await benchDeskOn({ ...ground, server: ground.postgres.pid, short, say })
      for (const one of figures) say(describeDesk(one))
      return figures
    }
    if (name === 'partitions') {
      const { benchPartitions } = await import('./partitions.ts')
      const rows = how.rows ?? (short ? 360_000 : 12_000_000)
      return tell(await benchPartitions(ground, { rows, say }), how)
    }
    if (name === 'repeats') {
      const { benchRepeats } = await import('./repeats.ts')
      const size = short ? { queries: 60, nights: 10 } : { queries: 300, nights: 60 }
      return tell(await benchRepeats(ground, size), how)
    }
    if (name === 'archive') {
      const { benchArchive } = await import('./archive.ts')
      return tell(
        await benchArchive(ground, { rows: how.rows ?? (short ? 30_000 : 300_000), say }),
        how,
      )
    }
    const { benchAnalysis, describeAnalysis } = await import('./analysis.ts')
    const figures = await benchAnalysis(ground, { short, say })
    say(describeAnalysis(figures))
    return figures
  } finally {
    await ground.close()
  }
}

function show(figures: MillFigures): void {
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
