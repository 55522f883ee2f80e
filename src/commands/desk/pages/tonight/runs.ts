import type { RunStatus } from '../../../../store/operator/status.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import {
  figure,
  given,
  nothing,
  progress,
  runBadge,
  section,
  table,
  to,
} from '../../../drawing/parts.ts'
import type { TonightFound } from './found.ts'

const leastShown = 6

/** Runs that go on, and the newest that ended. */
export function drawRuns({ runs, older }: TonightFound, place: PagePlace): Html {
  if (runs.length === 0) {
    return section(
      { id: 'runs-now', title: 'Runs' },
      nothing(
        'One line for each pass over a list, with what was answered, reused and failed.',
        'npm run enqueue inputs/keywords.csv',
      ),
    )
  }
  const going = runs.filter(({ state }) => state === 'open' || state === 'planning').length
  const shown = Math.max(going, leastShown)
  const [first, rest] = [runs.slice(0, shown), runs.slice(shown)]
  const about =
    older === 0
      ? {}
      : { about: html`And ${older} older ones: ${to(place.href('/nights'), 'all nights')}.` }
  return section(
    { id: 'runs-now', title: 'Runs', ...about },
    html`${table('Runs', columns(place), first)} ${before(rest, place)}`,
  )
}

function before(rest: readonly RunStatus[], place: PagePlace): Html | null {
  if (rest.length === 0) return null
  return html`<details id="runs-before">
    <summary>${rest.length} runs before these</summary>
    ${table('Runs before these', columns(place), rest)}
  </details>`
}

function columns({ href }: PagePlace) {
  const number = true as const
  const word = true as const
  const of = ({ run }: RunStatus, name: string) => `runs.${run}.${name}`
  return [
    { head: 'run', number, cell: (row: RunStatus) => to(href(`/runs/${row.run}`), row.run) },
    { head: 'list', cell: (row: RunStatus) => given(row.list) },
    { head: 'date', word, cell: (row: RunStatus) => row.run_date },
    { head: 'state', word, cell: (row: RunStatus) => runBadge(row.state) },
    { head: 'ended', word, cell: doneOf },
    { head: 'open', number, cell: (row: RunStatus) => figure(of(row, 'open'), row.tasks.open) },
    {
      head: 'answered',
      number,
      cell: (row: RunStatus) => figure(of(row, 'answered'), row.tasks.answered),
    },
    {
      head: 'reused',
      number,
      cell: (row: RunStatus) => figure(of(row, 'reused'), row.tasks.reused),
    },
    {
      head: 'not asked',
      number,
      cell: (row: RunStatus) => figure(of(row, 'not_asked'), row.tasks.not_asked),
    },
    {
      head: 'failed',
      number,
      cell: (row: RunStatus) => figure(of(row, 'failed'), row.tasks.failed),
    },
    {
      head: 'unknown',
      number,
      cell: (row: RunStatus) => figure(of(row, 'unknown'), row.tasks.unknown),
    },
    { head: 'credits', number, cell: creditsOf },
  ]
}

function doneOf({ tasks }: RunStatus): Html {
  const all = Object.values(tasks).reduce((sum, number) => sum + number, 0)
  return progress(all - tasks.open, all)
}

function creditsOf({ run, spent, budget }: RunStatus): Html {
  const limit = budget === null ? null : html` of ${budget}`
  return html`${figure(`runs.${run}.spent`, spent)}${limit}`
}
