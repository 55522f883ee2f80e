// The page of one run.

import { npmRun } from '../../base/cli/commands.ts'
import {
  countTasks,
  readRunFacts,
  readRunMoves,
  type RunFacts,
  type RunMove,
  type TaskCount,
} from '../../core/runs/run.ts'
import { NotThere } from '../address.ts'
import { type Html, html } from '../drawing/html.ts'
import {
  amount,
  command,
  figure,
  given,
  instant,
  nothing,
  percent,
  runBadge,
  section,
  table,
  tiles,
  to,
  uncertainNote,
} from '../drawing/parts.ts'
import { definePage, type PagePlace } from '../page.ts'
import { nightPath, toDomain, toQuery } from './ways.ts'

interface NightFound {
  readonly facts: RunFacts
  readonly counts: readonly TaskCount[]
  /** Null if the run has too many queries to compare all of their answers for a page. */
  readonly moves: readonly RunMove[] | null
}

const mostCompared = 3_000

/** One run: its orders, results, cost and position changes. */
export const night = definePage({
  path: '/runs/:run',
  area: 'Operations',
  ask: (address) => address.id('run'),
  read: (reading, run) =>
    reading.answers(async (db): Promise<NightFound> => {
      const facts = await readRunFacts(db, run)
      if (facts === null)
        throw new NotThere(`There is no run ${run}: the calendar of nights lists all runs.`)
      const counts = await countTasks(db, run)
      const queries = counts.reduce((sum, { tasks }) => sum + tasks, 0)
      const moves = queries > mostCompared ? null : await readRunMoves(db, facts)
      return { facts, counts, moves }
    }),
  show: (found, place) => {
    const { facts } = found
    return {
      title: `Run ${facts.run}: ${facts.list}, ${facts.run_date}`,
      lead: html`${runBadge(facts.state)} ${kindOf(facts, place)}`,
      body: html`${neighbours(facts, place)} ${odd(facts)} ${counted(found)}
        <div class="pair">${failures(found)} ${drawCost(facts)}</div>
        ${moved(found, place)}`,
    }
  },
})

function kindOf(
  { kind, schedule, due_at: due, note, created_at: from, finished_at: until }: RunFacts,
  { zone }: PagePlace,
): Html {
  const why =
    schedule === null
      ? kind === 'nightly'
        ? 'started by a schedule'
        : 'started by hand'
      : html`schedule ${given(schedule)}, due ${instant(due, zone)}`
  const end = until === null ? 'in progress' : html`ended ${instant(until, zone)}`
  return html`${why}; begun ${instant(from, zone)},
  ${end}${note === null ? null : html`; ${given(note)}`}`
}

function neighbours({ previous, next, list }: RunFacts, { href }: PagePlace): Html {
  return html`<nav class="beside" aria-label="Runs of the same list">
    ${previous === null ? null : to(href(`/runs/${previous}`), html`← previous run of ${given(list)}`)}
    ${next === null ? null : to(href(`/runs/${next}`), html`next run →`)}
    ${to(href('/nights'), 'All nights')}
  </nav>`
}

function odd({ suspect, reasons, remarks }: RunFacts): Html | null {
  if (!suspect && remarks.length === 0) return null
  const title = suspect ? 'Suspect: left out of shares and trends' : 'Odd, but shown'
  return html`<section class="state warn">
    <h2>${title}</h2>
    <ul class="lines">
      ${[...reasons, ...remarks].map((one) => html`<li>${one}</li>`)}
    </ul>
  </section>`
}

function counted({ facts, counts }: NightFound): Html {
  const of = (...states: readonly TaskCount['state'][]) =>
    counts.reduce((sum, { state, tasks }) => sum + (states.includes(state) ? tasks : 0), 0)
  const all = counts.reduce((sum, { tasks }) => sum + tasks, 0)
  return tiles([
    { text: 'planned', value: figure('tasks', all) },
    { text: 'bought', value: figure('answered', of('answered')) },
    { text: 'reused', value: figure('reused', of('reused')) },
    { text: 'not asked', value: figure('not_asked', of('not_asked')) },
    { text: 'failed', value: figure('failed', of('failed')) },
    { text: 'unknown: possibly charged', value: figure('unknown', of('unknown')) },
    {
      text: 'left out: budget, or cancelled',
      value: figure('left', of('unaffordable', 'cancelled')),
    },
    { text: 'open', value: figure('open', of('open')) },
    { text: 'lines rejected', value: figure('rejected', facts.rejected) },
  ])
}

function failures({ facts, counts }: NightFound): Html {
  const wrong = counts.filter(
    ({ error, state }) => error !== null && state !== 'answered' && state !== 'reused',
  )
  const number = true as const
  const columns = [
    { head: 'code', cell: ({ error }: TaskCount) => html`<code>${error}</code>` },
    { head: 'state', word: true as const, cell: ({ state }: TaskCount) => state },
    { head: 'tasks', number, cell: ({ tasks }: TaskCount) => amount(tasks) },
    { head: 'for instance', cell: ({ example }: TaskCount) => given(example) },
  ]
  const again = html`<p>To retry: ${command(`${npmRun('retry --')} --run ${facts.run}`)}</p>`
  return section(
    { id: 'failures', title: 'What failed' },
    wrong.length === 0
      ? html`<p class="soft">No task ended in an error.</p>`
      : html`${table('Failures by code', columns, wrong)} ${again}`,
  )
}

const words: Readonly<Record<string, string>> = {
  up: '▲ up',
  down: '▼ down',
  entered: '▲ entered',
  left: '▼ left',
}

function moved({ moves, facts }: NightFound, place: PagePlace): Html {
  if (moves === null) {
    const filters = { day: facts.run_date, change: 'any', sort: 'change' }
    const about = html`The run has more than ${amount(mostCompared)} queries:
    ${to(place.href('/keywords', filters), 'the table of keywords')} has all of them.`
    return section({ id: 'moved', title: 'What moved most', about }, null)
  }
  const number = true as const
  const columns = [
    { head: 'query', cell: (row: RunMove) => toQuery(place, row.query_id, row.q) },
    { head: 'domain', cell: (row: RunMove) => toDomain(place, row.domain) },
    { head: 'before', number, cell: (row: RunMove) => amount(row.previous) },
    { head: 'now', number, cell: (row: RunMove) => amount(row.position) },
    {
      head: 'change',
      word: true as const,
      cell: (row: RunMove) =>
        html`<span class="${row.change}">${words[row.change] ?? row.change}</span>`,
    },
    { head: 'page', cell: (row: RunMove) => given(row.page) },
    {
      head: 'both nights',
      word: true as const,
      cell: (row: RunMove) =>
        to(
          place.href(nightPath(row.query_id, facts.run_date), { beside: row.previous_date }),
          'side by side',
        ),
    },
  ]
  const text = facts.suspect
    ? 'A suspect night is not compared, unless suspect nights are shown (below).'
    : 'No moves, or no earlier answer to compare with.'
  return section(
    {
      id: 'moved',
      title: 'What moved most',
      about: 'Our domains, or all if none is ours; compared with the previous answer.',
    },
    moves.length === 0
      ? nothing(text, `${npmRun('domains --')} list`)
      : table('Moves', columns, moves),
  )
}

/** Cost of a run compared with its forecast, and its results. */
function drawCost({
  spent,
  uncertain,
  budget,
  asked,
  answered,
  price,
  usual_price: usual,
  depth,
  empty,
  unreadable,
  workers,
}: RunFacts): Html {
  const foreseen = asked === null || usual === null ? null : asked * usual
  return section(
    { id: 'cost', title: 'Cost and results' },
    html`<dl class="facts">
      <dt>queries to be bought that have a readable answer</dt>
      <dd>${percent(asked === null || asked === 0 ? null : (answered ?? 0) / asked)}</dd>
      <dt>credits used</dt>
      <dd>
        ${figure('spent', spent)}${budget === null ? null : html` of a budget of ${amount(budget)}`}${uncertainNote({ uncertain })}
      </dd>
      <dt>expected, at the prices of earlier nights</dt>
      <dd>${amount(foreseen)}</dd>
      <dt>credits per answer</dt>
      <dd>
        ${amount(price)}${usual === null ? null : html` <span class="soft">(usually ${amount(usual)})</span>`}
      </dd>
      <dt>results per answer (depth)</dt>
      <dd>${amount(depth)}</dd>
      <dt>empty answers</dt>
      <dd>${amount(empty)}</dd>
      <dt>answers that cannot be read</dt>
      <dd>${amount(unreadable)}</dd>
      <dt>workers</dt>
      <dd>${amount(workers)}</dd>
    </dl>`,
  )
}
