import { count } from '../../../../shared/terminal/wording.ts'
import type { FrontierRound } from '../../../../store/analysis/expansion.ts'
import { drawBars } from '../../../drawing/bars.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { given, section } from '../../../drawing/parts.ts'

/** How much of what related searches brought was not known before, list by list and round by round: when to stop. */
export function drawFrontier(rounds: readonly FrontierRound[] | null): Html | null {
  if (rounds === null || rounds.length === 0) return null
  const lists = grouped(rounds)
  return section(
    {
      id: 'frontier',
      title: 'What related searches brought',
      about:
        'Of the pages and domains in the answers of each round of npm run expand, those that no answer before had shown. While a round brings as much as the one before, the next is worth its credits.',
    },
    html`${[...lists].map(([list, held]) => picturesOf(list, held))}`,
  )
}

function grouped(rounds: readonly FrontierRound[]): ReadonlyMap<string, readonly FrontierRound[]> {
  const lists = new Map<string, FrontierRound[]>()
  for (const round of rounds) {
    const there = lists.get(round.list)
    if (there === undefined) lists.set(round.list, [round])
    else there.push(round)
  }
  return lists
}

function picturesOf(list: string, rounds: readonly FrontierRound[]): Html {
  const credits = rounds.reduce((sum, { credits_used: used }) => sum + used, 0)
  const bars = (title: string, valueOf: (round: FrontierRound) => readonly (number | null)[]) =>
    ({
      title,
      kind: 'round',
      series: ['pages', 'domains'],
      groups: rounds.map((round) => ({ name: `round ${round.round}`, values: valueOf(round) })),
    }) as const
  const share = (some: number, all: number) => (all === 0 ? null : some / all)
  return html`<h3>${given(list)}: ${count(rounds.length, 'round')}, ${count(credits, 'credit')}</h3>
    ${drawBars({
      ...bars(
        `Share of the pages and domains in the answers of each round of ${list} that were not known before`,
        (one) => [share(one.new_pages, one.pages), share(one.new_domains, one.domains)],
      ),
      format: (value) => `${Math.round(value * 100)} %`,
    })}
    ${drawBars({
      ...bars(
        `Pages and domains not known before that each answer of a round of ${list} brought`,
        (one) => [one.new_pages / one.answers, one.new_domains / one.answers],
      ),
      format: (value) => String(Math.round(value * 100) / 100),
    })}`
}
