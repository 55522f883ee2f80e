// The page for one run.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { usualNights } from '../../core/nights/health.ts'
import type { TaskState } from '../../core/runs/status.ts'
import { NotThere } from '../address.ts'
import { type Html, html } from '../drawing/html.ts'
import {
  amount,
  command,
  facts,
  figure,
  given,
  instant,
  lines,
  percent,
  runBadge,
  section,
  tiles,
  to,
  uncertainNote,
} from '../drawing/parts.ts'
import { column, table, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { toDomain, toNight, toQuery, toRun } from './ways.ts'

const mostCompared = 3_000

export const night = definePage({
  path: '/runs/:run',
  area: 'Operations',
  ask: (address) => address.id('run'),
  read: (reading, run) => reading.answers((db) => readRun(db, run)),
  show: (found, place) => {
    const { run } = found
    return {
      title: `Run ${run.run}: ${run.list}, ${run.run_date}`,
      lead: html`${runBadge(run.state)} ${kindOf(run, place)}`,
      body: html`${neighbours(run, place)} ${odd(run)} ${counted(found)}
        <div class="pair">${failures(found)} ${drawCost(run)}</div>
        ${moved(found, place)}`,
    }
  },
})

type RunFound = Awaited<ReturnType<typeof readRun>>

async function readRun(db: Database, id: number) {
  const run = await readRunFacts(db, id)
  const counts = await countTasks(db, id)
  const all = counts.reduce((sum, { tasks }) => sum + tasks, 0)
  // The moves are not read if there are too many answers to compare within a page load.
  const read = () => readRows<RunMove>(db, 'run_moves', { date: run.run_date, run: id })
  return { run, counts, all, moves: all > mostCompared ? null : await read() }
}

function kindOf(
  { kind, schedule, due_at: due, note, created_at: from, finished_at: until }: RunFacts,
  { zone }: PagePlace,
): Html {
  const starter = kind === 'nightly' ? 'started by a schedule' : 'started manually'
  const why =
    schedule === null ? starter : html`schedule ${given(schedule)}, due ${instant(due, zone)}`
  const end = until === null ? 'in progress' : html`ended ${instant(until, zone)}`
  return html`${why}; began ${instant(from, zone)},
  ${end}${note === null ? null : html`; ${given(note)}`}`
}

function neighbours({ previous, next, list }: RunFacts, place: PagePlace): Html {
  return html`<nav class="beside" aria-label="Runs of the same list">
    ${previous === null ? null : toRun(place, previous, html`← previous run of ${given(list)}`)}
    ${next === null ? null : toRun(place, next, 'next run →')}
    ${to(place.href('/nights'), 'All nights')}
  </nav>`
}

function odd({ suspect, reasons, remarks }: RunFacts): Html | null {
  if (!suspect && remarks.length === 0) return null
  return html`<section class="state warn">
    <h2>${suspect ? 'Suspect: left out of shares and trends' : 'Odd, but shown'}</h2>
    ${lines([...reasons, ...remarks])}
  </section>`
}

function counted({ run, counts, all }: RunFound): Html {
  const of = (...states: readonly TaskState[]) =>
    counts.reduce((sum, { state, tasks }) => sum + (states.includes(state) ? tasks : 0), 0)
  return tiles([
    ['planned', figure('tasks', all)],
    ['bought', figure('answered', of('answered'))],
    ['reused', figure('reused', of('reused'))],
    ['not asked', figure('not_asked', of('not_asked'))],
    ['failed', figure('failed', of('failed'))],
    ['unknown: possibly charged', figure('unknown', of('unknown'))],
    ['left out (budget used up or cancelled)', figure('left', of('unaffordable', 'cancelled'))],
    ['open', figure('open', of('open'))],
    ['lines rejected', figure('rejected', run.rejected)],
  ])
}

function failures({ run, counts }: RunFound): Html {
  const wrong = counts.filter(
    ({ error, state }) => error !== null && state !== 'answered' && state !== 'reused',
  )
  return section(
    { id: 'failures', title: 'What failed' },
    wrong.length === 0
      ? html`<p class="soft">No task ended with an error.</p>`
      : html`${table('Failures by code', wrong, [
            column.plain('code', ({ error }) => html`<code>${error}</code>`),
            column.word('state', 'state'),
            column.number('tasks', 'tasks'),
            column.text('example', 'example'),
          ])}
          <p>To retry: ${command(`${npmRun('retry --')} --run ${run.run}`)}</p>`,
  )
}

const words: Readonly<Record<string, string>> = {
  up: '▲ up',
  down: '▼ down',
  entered: '▲ entered',
  left: '▼ left',
}

function moved({ moves, run }: RunFound, place: PagePlace): Html {
  const [id, title, day] = ['moved', 'What moved most', run.run_date]
  if (moves === null) {
    const filters = { day, change: 'any', sort: 'change' }
    const about = html`The run has more than ${amount(mostCompared)} queries, too many to compare
    here; ${to(place.href('/keywords', filters), 'the keyword table')} shows all moves.`
    return section({ id, title, about }, null)
  }
  const text = run.suspect
    ? 'A suspect night is compared only if suspect nights are shown (see below).'
    : 'No domain moved, or there is no earlier answer to compare with.'
  return tableSection(
    {
      id,
      title,
      about: 'Our domains, or all domains if none are ours, compared with the previous answer.',
      empty: [text, `${npmRun('domains --')} list`],
    },
    moves,
    [
      column.plain('query', ({ query_id: query, q }) => toQuery(place, query, q)),
      column.plain('domain', ({ domain }) => toDomain(place, domain)),
      column.number('before', 'previous'),
      column.number('now', 'position'),
      column.word('change', ({ change }) => {
        return html`<span class="${change}">${words[change] ?? change}</span>`
      }),
      column.text('page', 'page'),
      column.word('both nights', ({ query_id: query, previous_date: beside }) =>
        toNight(place, query, { day, beside, text: 'side by side' }),
      ),
    ],
  )
}

function drawCost(run: RunFacts): Html {
  const { uncertain, budget, asked, usual_price: usual } = run
  const of = budget === null ? null : html` of a budget of ${amount(budget)}`
  const usually =
    usual === null ? null : html` <span class="soft">(usually ${amount(usual)})</span>`
  return section(
    { id: 'cost', title: 'Cost and results' },
    facts([
      [
        'planned purchases with a readable answer',
        percent(asked === null || asked === 0 ? null : (run.answered ?? 0) / asked),
      ],
      ['credits used', html`${figure('spent', run.spent)}${of}${uncertainNote({ uncertain })}`],
      [
        'expected credits at the prices of earlier nights',
        asked === null || usual === null ? null : asked * usual,
      ],
      ['credits per answer', html`${amount(run.price)}${usually}`],
      ['results per answer (depth)', run.depth],
      ['empty answers', run.empty],
      ['unreadable answers', run.unreadable],
      ['workers', run.workers],
    ]),
  )
}

type RunFacts = RunFound['run']

/** A change in the position of one of our domains in a run. If no domains are configured, any domain counts. */
interface RunMove {
  readonly query_id: string
  readonly q: string
  readonly domain: string
  readonly previous: number | null
  readonly previous_date: string
  readonly position: number | null
  readonly change: string
  readonly page: string | null
}

const none = sql<string[]>`'{}'`

async function readRunFacts(db: Database, run: number) {
  const found = await db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .leftJoin('night_health as health', 'health.run_id', 'runs.id')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('nights')
          .select(['schedule', 'due_at', 'note'])
          .whereRef('run_id', '=', 'runs.id')
          .orderBy('due_at', 'desc')
          .limit(1)
          .as('night'),
      (join) => join.onTrue(),
    )
    .select(['runs.id as run', 'lists.name as list', 'runs.run_date', 'runs.kind', 'runs.state'])
    .select(['runs.created_at', 'runs.finished_at', 'runs.budget', 'runs.spent', 'runs.uncertain'])
    .select(['runs.rejected', 'runs.suspect', 'night.schedule', 'night.due_at', 'night.note'])
    .select(['health.asked', 'health.answered', 'health.price', 'health.depth', 'health.empty'])
    .select(['health.unreadable', 'health.workers'])
    .select((eb) => {
      /** Selects the id of the list's previous (`<`) or next (`>`) run. */
      const beside = (side: '<' | '>') =>
        eb
          .selectFrom('runs as other')
          .select(({ fn }) => fn[side === '<' ? 'max' : 'min']('other.id').as('id'))
          .whereRef('other.list_id', '=', 'runs.list_id')
          .whereRef('other.id', side, 'runs.id')
      return [
        eb.fn.coalesce('health.reasons', none).as('reasons'),
        eb.fn.coalesce('health.remarks', none).as('remarks'),
        sql<number | null>`(
          select avg(before.price)::float8
          from (${usualNights(eb.ref('runs.list_id'), eb.ref('runs.id'))}) as before
        )`.as('usual_price'),
        beside('<').as('previous'),
        beside('>').as('next'),
      ]
    })
    .where('runs.id', '=', run)
    .executeTakeFirst()
  if (found !== undefined) return found
  throw new NotThere(`There is no run ${run}. The calendar of nights lists all runs.`)
}

function countTasks(db: Database, run: number) {
  return db
    .selectFrom('tasks')
    .select((eb) => [
      eb.ref('state').$castTo<TaskState>().as('state'),
      'error_code as error',
      eb.fn.min('error_message').as('example'),
      eb.fn.countAll<number>().as('tasks'),
    ])
    .where('run_id', '=', run)
    .groupBy(['state', 'error_code'])
    .orderBy('tasks', 'desc')
    .orderBy('state')
    .orderBy('error_code')
    .execute()
}
