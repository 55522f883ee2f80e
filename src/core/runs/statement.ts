// The statement command: explains every change in a balance.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { wordFlag } from '../../base/cli/flags.ts'
import { formatNumber, formatTable } from '../../base/cli/text.ts'
import { type Config, readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { groupBy } from '../../base/query.ts'
import { dueBetween } from '../../base/time/cron.ts'
import { formatMinute, isDay } from '../../base/time/zone.ts'
import { readStatement, type StatementEvent, type StatementRow } from '../ledger/statement.ts'
import { openMill } from '../mill.ts'

interface StatementOptions {
  readonly account?: string
  readonly since?: string
  readonly until?: string
  readonly by: string
}

const groupings = ['day', 'list', 'run'] as const
type Grouping = (typeof groupings)[number]

export async function showStatement(call: Call<StatementOptions>): Promise<Exit> {
  const { options, env, closers } = call
  const by = wordFlag('by', options.by, groupings)
  const since = dateFlag('since', options.since)
  const until = dateFlag('until', options.until)
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'statement', reading: true })
  const order = { account: options.account ?? null, since, until, zone: config.zone }
  const { sums, events } = await readStatement(mill.db, order, by)
  const view = { by, zone: config.zone, sums, events: nameRises(events, config) }
  if (options.json === true) printJson(view)
  else print(statementLines(view).join('\n'))
  return exits.done
}

function dateFlag(name: string, text: string | undefined): string | null {
  if (text === undefined) return null
  if (isDay(text)) return text
  throw new Misuse(`expected --${name} to be a date like 2026-01-31, got ${text}`)
}

const eventNames = {
  perhaps_ours: 'perhaps ours',
  others: 'external spend',
  top_up: 'top-up',
} as const satisfies Record<StatementEvent['kind'], string>

export interface NamedEvent extends StatementEvent {
  readonly what: (typeof eventNames)[StatementEvent['kind']] | 'renewal'
}

interface StatementView {
  readonly by: Grouping
  readonly zone: string
  readonly sums: readonly StatementRow[]
  readonly events: readonly NamedEvent[]
}

/** Names the events. An increase is a renewal if a renewal time from MILL_RENEWAL lies between the two balances. */
export function nameRises(
  events: readonly StatementEvent[],
  { renewal, zone }: Pick<Config, 'renewal' | 'zone'>,
): readonly NamedEvent[] {
  return events.map((event) => {
    const { kind, after, at } = event
    const renewed =
      kind === 'top_up' &&
      renewal !== null &&
      after !== null &&
      dueBetween(renewal, zone, { after, until: at }).length > 0
    return { ...event, what: renewed ? 'renewal' : eventNames[kind] }
  })
}

export function statementLines({ by, zone, sums, events }: StatementView): readonly string[] {
  if (sums.length === 0)
    return ['no balance was reported in this period; a statement begins with the first answer']
  const eventsOf = groupBy(events, ({ account }) => account)
  return [...groupBy(sums, ({ account }) => account)].flatMap(([account, rows], index) => [
    ...(index === 0 ? [] : ['']),
    ...accountLines(account, { by, zone, sums: rows, events: eventsOf.get(account) ?? [] }),
  ])
}

function accountLines(account: string, { by, zone, sums, events }: StatementView): string[] {
  const total = (read: (row: StatementRow) => number): number =>
    sums.reduce((sum, row) => sum + read(row), 0)
  const changes = (row: StatementRow): number =>
    row.ours + row.perhaps_ours + row.others + row.top_up
  const lines = [`account ${account}`, sumTable(by, sums)]
  const [first] = sums
  const last = sums.at(-1)
  if (by === 'day' && first !== undefined && last !== undefined) {
    lines.push(
      `opening balance ${formatNumber(first.opening)} ${signed(total(changes))} in changes = closing balance ${formatNumber(last.closing)}`,
    )
  }
  if (events.length > 0) lines.push('', eventTable(events, zone))
  return lines
}

const kinds = ['ours', 'perhaps ours', 'external', 'added'] as const

function sumTable(by: Grouping, sums: readonly StatementRow[]): string {
  const cells = sums.map((row) => {
    const changes = [row.ours, row.perhaps_ours, row.others, row.top_up]
    const name = row.group === '' ? 'no call of ours' : row.group
    const figures = by === 'day' ? [row.opening, ...changes, row.closing] : changes
    return [name, ...figures.map(formatNumber)]
  })
  const heads = by === 'day' ? [by, 'opening', ...kinds, 'closing'] : [by, ...kinds]
  return formatTable(heads, cells, { right: heads.slice(1) })
}

function eventTable(events: readonly NamedEvent[], zone: string): string {
  const rows = events.map(({ what, after, at, credits, balance, run_id: run }) => [
    after === null ? '' : formatMinute(zone, after),
    formatMinute(zone, at),
    signed(credits),
    what,
    run === null ? '' : `run ${run}`,
    formatNumber(balance),
  ])
  return formatTable(['after', 'seen', 'credits', 'what', 'of', 'balance'], rows, {
    right: ['credits', 'balance'],
  })
}

function signed(credits: number): string {
  return credits < 0 ? `- ${formatNumber(-credits)}` : `+ ${formatNumber(credits)}`
}
