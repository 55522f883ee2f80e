import { readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { wordFlag } from '../../shared/terminal/flags.ts'
import { isDay } from '../../shared/time/zone.ts'
import { readStatement } from '../../store/analysis/statement.ts'
import { openMill } from '../mill/mill.ts'
import { nameRises, statementLines } from './lines.ts'

export interface StatementOptions {
  readonly account?: string
  readonly since?: string
  readonly until?: string
  readonly by: string
  readonly json?: true
}

const groupings = ['day', 'list', 'run'] as const

/** Every change of the balance explained: sums by day, list or run, and a dated line for what is not surely ours. */
export async function showStatement({
  options,
  env,
  closers,
}: Call<StatementOptions>): Promise<Exit> {
  const by = wordFlag('by', options.by, groupings)
  const since = dateFlag('since', options.since)
  const until = dateFlag('until', options.until)
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'statement', reading: true })
  const order = { account: options.account ?? null, since, until, zone: config.zone }
  const { sums, events: unnamed } = await readStatement(mill.db, order, by)
  const events = nameRises(unnamed, config)
  if (options.json === true) printJson({ by, zone: config.zone, sums, events })
  else print(statementLines({ by, zone: config.zone, sums, events }).join('\n'))
  return exits.done
}

function dateFlag(name: string, text: string | undefined): string | null {
  if (text === undefined) return null
  if (isDay(text)) return text
  throw new Misuse(`expected --${name} to be a date like 2026-01-31, got ${text}`)
}
