import { readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { readRestingLists } from '../../store/nights/receipts.ts'
import { readHistoryLists } from '../../store/nights/first-tens.ts'
import { openMill } from '../mill/mill.ts'
import { backtestJson, backtestList } from './backtest.ts'
import { backtestLines, restingLines } from './lines.ts'
import { restingJson } from './resting.ts'

/** What can be typed after `npm run cadence --`. */
export interface CadenceOptions {
  readonly backtest?: true
  readonly list?: string
  readonly longest: string
  readonly share: string
  readonly lend?: true
  readonly json?: true
}

/** Shows how lists rest, or what resting would have come to; it writes nothing. */
export async function runCadence({ options, env, closers }: Call<CadenceOptions>): Promise<Exit> {
  const longest = longestOf(options.longest)
  const share = shareOf(options.share)
  const lends = options.lend === true
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'cadence', reading: true })
  const only = options.list ?? null
  const lists = await readHistoryLists(mill.db, mill.supplier)
  const wanted = lists.filter(({ name }) => only === null || name === only)
  if (only !== null && wanted.length === 0) throw new Misuse(unknownList(only, lists))
  if (options.backtest !== true) {
    const resting = (await readRestingLists(mill.db)).filter(
      ({ list }) => only === null || list === only,
    )
    if (options.json === true) printJson({ lists: resting.map(restingJson) })
    else print(restingLines(resting).join('\n'))
    return exits.done
  }
  const tests = []
  for (const list of wanted) tests.push(await backtestList(mill, list, { longest, share, lends }))
  if (options.json === true) printJson({ lists: tests.map(backtestJson) })
  else print(backtestLines(tests).join('\n'))
  return exits.done
}

function unknownList(only: string, lists: readonly { name: string }[]): string {
  const names = lists.map(({ name }) => name).join(', ') || 'none'
  return `expected --list to name a list that was answered, got ${only}; there are: ${names}`
}

function longestOf(text: string): number {
  const days = /^\d{1,3}d$/.test(text) ? Number.parseInt(text, 10) : 0
  if (days >= 1 && days <= 365) return days
  throw new Misuse(`expected --longest to be whole days from 1d to 365d, got ${text}`)
}

function shareOf(text: string): number {
  const percent = /^\d{1,3}%?$/.test(text) ? Number.parseInt(text, 10) : 0
  if (percent >= 1 && percent <= 100) return percent / 100
  throw new Misuse(`expected --share to be a percentage from 1% to 100%, got ${text}`)
}
