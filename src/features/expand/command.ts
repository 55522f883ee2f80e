// The expand command: buys a list's related searches, round by round.

import { addYesHint, type Call, print, printJson, say } from '../../base/cli/command.ts'
import { npmRun } from '../../base/cli/commands.ts'
import { countFlag, wholeFlag } from '../../base/cli/flags.ts'
import { count, formatNumber, formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { reaching } from '../../base/database/trouble.ts'
import { type Exit, exits, Misuse, unhandled } from '../../base/errors.ts'
import { typedName } from '../../core/enqueue/flags.ts'
import { openMill } from '../../core/mill.ts'
import { readFilter, type TypedFilter } from './choose.ts'
import { expand, type ExpandOrder, type ExpandOutcome, type Takeable } from './expand.ts'
import { readRoundYields, type RelatedQuery, type RoundYield } from './statements.ts'

export interface ExpandFlags extends TypedFilter {
  readonly list?: string
  readonly as?: string
  readonly credits?: string
  readonly depth?: string
  readonly yes?: true
}

export async function runExpand(call: Call<ExpandFlags>): Promise<Exit> {
  const { options: flags, env, closers } = call
  const config = readConfig(env)
  const order = readOrder(flags)
  const mill = await openMill({ config, closers, say, name: 'expand' })
  const json = flags.json === true
  const show = (lines: readonly string[]) =>
    lines.forEach((line) => (json ? say(line) : print(line)))
  const outcome = await reaching('the database', () =>
    expand(mill, order, {
      preview: flags.yes !== true,
      show: (found: Takeable) => show(foundLines(found, order)),
    }),
  )
  const rounds = await readRoundYields(mill.db, { list: order.into, origin: mill.supplier.origin })
  if (json) printJson(expandReport(order, outcome, rounds))
  else show([...roundLines(rounds), ...outcomeLines(outcome, order)])
  return exitOf(outcome, mill.supplier.origin)
}

const mostDepth = 20

export function readOrder(flags: ExpandFlags): ExpandOrder {
  const { list, as, credits, depth } = flags
  if (list === undefined || list.trim() === '') {
    throw new Misuse(
      `expected --list with a list name, got none; ${npmRun('status')} shows the lists`,
    )
  }
  if (credits === undefined) {
    throw new Misuse(
      'expected --credits with the maximum total cost of all rounds, got nothing; nothing is bought without --yes',
    )
  }
  const rounds = wholeFlag('depth', depth, mostDepth) ?? 1
  if (rounds === 0) {
    throw new Misuse(`expected --depth to be a whole number from 1 to ${mostDepth}, got ${depth}`)
  }
  return {
    list,
    // The suffix contains no comma or space, because users separate list names with commas.
    into: as === undefined ? `${list}-expanded` : typedName(as),
    credits: countFlag('credits', credits),
    depth: rounds,
    wanted: readFilter(flags),
  }
}

function exitOf({ kind, found }: ExpandOutcome, origin: string): Exit {
  if (kind === 'spent') return exits.stopped
  if (kind !== 'previewed' || found === null || origin === 'test') return exits.done
  const { after, floor } = found.preview.balance
  // The preview's exit code shows whether the plan stays within the limits, as for every purchase.
  return after === null || after >= floor ? exits.done : exits.stopped
}

const shownQueries = 20

function foundLines(found: Takeable, { list, credits }: ExpandOrder): string[] {
  const { queries, answered, candidates, looked } = found
  const shown = queries.slice(0, shownQueries)
  const more = queries.length - shown.length
  const whose = found.from === 0 ? `the list ${JSON.stringify(list)}` : `round ${found.from}`
  return [
    `from        ${count(answered, 'answer')} of ${whose}, which contain ${count(candidates, 'related search')} that you have never bought`,
    `considered  ${formatNumber(looked)}, most promising first${leftOutNote(found)}`,
    queryTable(shown),
    ...(more > 0 ? [`and ${formatNumber(more)} more`] : []),
    `cost        ${costLine(found)}; all rounds together use at most ${count(credits, 'credit')}`,
    balanceLine(found),
  ]
}

function queryTable(queries: readonly RelatedQuery[]): string {
  const variants = queries.map(variantOf)
  const varied = variants.some((variant) => variant !== '')
  const heads = ['take', ...(varied ? ['as'] : []), 'sources', 'weight', 'named for']
  const rows = queries.map(({ q, sources, weight, from_q: from }, index) => [
    q,
    ...(varied ? [variants[index]] : []),
    sources,
    Math.round(weight * 100) / 100,
    from,
  ])
  return formatTable(heads, rows, { right: ['sources', 'weight'], widest: 48 })
}

function variantOf({ location, hl, gl, num, device }: RelatedQuery): string {
  const given = { location, hl, gl, device, num: num === 10 ? null : num }
  return Object.entries(given)
    .flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))
    .join(', ')
}

function leftOutNote({ leftOut }: Pick<Takeable, 'leftOut'>): string {
  const reasons = [
    [leftOut.unwanted, 'by --match and --not'],
    [leftOut.twins, 'near duplicates'],
    [leftOut.other_script, 'in another script'],
    [leftOut.unusable, 'that cannot be sent'],
  ] as const
  const said = reasons.flatMap(([number, why]) => {
    return number > 0 ? [`${formatNumber(number)} ${why}`] : []
  })
  return said.length === 0 ? '' : `; left out: ${said.join(', ')}`
}

function costLine({ preview: { queries, estimate } }: Takeable): string {
  const calls = count(queries, 'call')
  if (estimate.credits === null) {
    return `${calls} at an unknown cost: no answer in this price class has been paid for yet`
  }
  return `${calls}, about ${count(estimate.credits, 'credit')}, at most ${formatNumber(estimate.worst ?? 0)}`
}

function balanceLine({ preview: { balance } }: Takeable): string {
  const { remaining, after, floor } = balance
  if (remaining === null) {
    return `balance     unknown until the first answer; credit floor: ${formatNumber(floor)}`
  }
  const short = after !== null && after < floor ? '; work stops at the floor' : ''
  return `balance     ${formatNumber(remaining)} now, ${after === null ? 'unknown' : formatNumber(after)} after; credit floor: ${formatNumber(floor)}${short}`
}

function outcomeLines(outcome: ExpandOutcome, order: ExpandOrder): string[] {
  const { kind, round, run, state, again, lowered } = outcome
  const { into, credits, depth } = order
  const taken = outcome.found?.queries.length ?? again
  const work = `${npmRun('work --')} --drain`
  switch (kind) {
    case 'queued':
      return [
        `round ${round} of ${depth}: ${count(taken, 'query')} in the list ${JSON.stringify(into)}, run ${run}${again > 0 ? ', selected earlier and not bought yet' : ''}`,
        `next        ${work}, then run the same command again for the next step`,
      ]
    case 'previewed':
      return [
        again > 0
          ? `${count(again, 'query')} selected earlier and not bought yet would be planned first: ${addYesHint}`
          : addYesHint,
      ]
    case 'waiting': {
      const open = state.rounds.reduce((sum, one) => sum + one.open, 0)
      return [
        `round ${round} is queued; the next round waits for answers to ${count(open, 'query')} in the list ${JSON.stringify(into)}`,
        ...(lowered === null
          ? []
          : [`run ${run} may now use at most ${count(lowered, 'credit')} in total`]),
        `next        ${work}, then run the same command again`,
      ]
    }
    case 'spent':
      return [
        `${formatNumber(state.used)} of ${count(credits, 'credit')} have been used, so too few credits are left for another query; to continue, raise --credits`,
      ]
    case 'exhausted': {
      const { found } = outcome
      const texts = count(found?.looked ?? 0, 'related text')
      const leftOut = found === null ? '' : leftOutNote(found)
      return [
        `nothing is left to buy; the answers for the list ${JSON.stringify(order.list)} contain ${texts} that you have never bought${leftOut}`,
      ]
    }
    default:
      throw unhandled('outcome', kind)
  }
}

function roundLines(rounds: readonly RoundYield[]): string[] {
  if (rounds.length === 0) return []
  const heads = [
    ...['round', 'queries', 'answers', 'credits'],
    ...['new pages', 'new domains', 'domains a credit'],
  ]
  const rows = rounds.map((one) => {
    const start = [one.round, one.queries, one.answers]
    // While a round has no answers, its yield is unknown rather than zero.
    if (one.answers === 0 && one.open > 0) return start
    const domains = rate(one.new_domains_per_credit)
    return [...start, one.credits_used, one.new_pages, one.new_domains, domains]
  })
  return [formatTable(heads, rows, { right: heads }), ...lessonLine(rounds)]
}

function lessonLine(rounds: readonly RoundYield[]): string[] {
  const [before, newest] = rounds.filter((round) => round.new_domains_per_credit !== null).slice(-2)
  if (before === undefined) return []
  const { round, new_domains_per_credit: found } = newest ?? before
  const after =
    newest === undefined
      ? ''
      : `, compared with ${rate(before.new_domains_per_credit)} in the previous round`
  return [`round ${round} found ${rate(found)} new domains per credit${after}`]
}

function rate(value: number | null): string {
  return value === null ? '' : value.toFixed(1)
}

function expandReport(
  { list, into, credits, depth }: ExpandOrder,
  { kind, round, run, state, found, again }: ExpandOutcome,
  rounds: readonly RoundYield[],
): object {
  return {
    list,
    into,
    state: kind,
    dry_run: kind === 'previewed',
    round,
    depth,
    run,
    credits: { limit: credits, used: state.used, left: state.left },
    again,
    taken: found?.queries.length ?? 0,
    candidates: found?.candidates ?? null,
    looked_at: found?.looked ?? null,
    left_out: found?.leftOut ?? null,
    estimate: found?.preview.estimate ?? null,
    balance: found?.preview.balance ?? null,
    queries: found?.queries ?? [],
    rounds,
  }
}
