import { count } from '../../../../shared/terminal/wording.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { etaOf, nextStep } from '../../../status/screen.ts'
import type { PagePlace } from '../../page.ts'
import { command, figure, given, instant, tiles, to } from '../../../drawing/parts.ts'
import type { TonightFound } from './found.ts'

const stopWords: Readonly<Record<string, string>> = {
  credit_floor: 'the credit floor is met',
  budget: 'a budget is used up',
  auth: 'the key was refused',
}

/** In one look: whether work goes on, why not, and what to type. */
export function drawState(found: TonightFound, { zone, href }: PagePlace): Html {
  const stops = found.account?.stops ?? []
  const { tone, title, text } = headline(found)
  return html`<section class="state ${tone}" aria-labelledby="state-title">
    <h2 id="state-title">${title}</h2>
    <p>${text}</p>
    ${wrongRuns(found, href)}
    ${stops.map(
      ({ reason, since, until, detail }) =>
        html`<p>
          <strong>${stopWords[reason] ?? reason}</strong> since
          ${instant(since, zone)}${until === null ? null : html`, until ${instant(until, zone)}`}:
          ${given(detail)}
        </p>`,
    )}
    <p class="next">Next: ${typeable(nextStep(found))}</p>
    ${
      found.origin === 'sandbox'
        ? html`<p class="soft">SANDBOX: the bundled service answers, no real credits are spent.</p>`
        : null
    }
    ${totals(found)}
  </section>`
}

/** The runs with tasks that failed or may have: those below are often others. */
function wrongRuns({ runs }: TonightFound, href: PagePlace['href']): Html | null {
  const wrong = runs.filter(({ tasks }) => tasks.failed + tasks.unknown > 0)
  if (wrong.length === 0) return null
  return html`<p>
    Failed or unknown:
    ${wrong
      .slice(0, 6)
      .map(
        ({ run, run_date: date, tasks }, index) =>
          html`${index === 0 ? '' : ', '}${to(href(`/runs/${run}`), `run ${run} of ${date}`)}
          (${tasks.failed + tasks.unknown})`,
      )}${wrong.length > 6 ? ` and ${count(wrong.length - 6, 'other run')}` : ''}.
  </p>`
}

interface Headline {
  readonly tone: 'good' | 'warn' | 'bad' | 'soft'
  readonly title: string
  readonly text: string
}

function headline({ runs, account, crew, endedLastMinute, outlook }: TonightFound): Headline {
  const open = runs.reduce((sum, { tasks }) => sum + tasks.open, 0)
  const tasks = count(open, 'open task')
  const stop = account?.stops[0]
  if (stop !== undefined) {
    const title = `Stands still: ${stopWords[stop.reason] ?? stop.reason}`
    return { tone: 'bad', title, text: open === 0 ? 'Nothing is open.' : `${tasks}.` }
  }
  if (runs.length === 0) {
    const text = 'No list was read yet: here its run would show, with what is done and left.'
    return { tone: 'soft', title: 'Nothing here yet', text }
  }
  if (open === 0) {
    const wrong = runs.reduce((sum, { tasks: of }) => sum + of.failed + of.unknown, 0)
    if (wrong === 0) return { tone: 'good', title: 'All done', text: 'Nothing is open.' }
    const text = `Nothing is open; ${count(wrong, 'task')} failed or may have.`
    return { tone: 'warn', title: 'Done, but not all of it', text }
  }
  if (crew.length === 0) {
    return { tone: 'warn', title: 'No worker is at work', text: `${tasks} wait for one.` }
  }
  if (endedLastMinute === 0) {
    const text = `${tasks}; no call ended in the last minute.`
    return { tone: 'warn', title: 'At work, and nothing comes back', text }
  }
  return { tone: 'good', title: 'At work', text: `${tasks}: ${etaOf(open, outlook)}.` }
}

function totals({ runs, endedLastMinute, account }: TonightFound): Html {
  const sum = (states: readonly (keyof (typeof runs)[number]['tasks'])[]) =>
    runs.reduce((all, { tasks }) => all + states.reduce((part, state) => part + tasks[state], 0), 0)
  return tiles([
    { text: 'open tasks', value: figure('open', sum(['open'])) },
    { text: 'calls ended in the last minute', value: figure('ended', endedLastMinute) },
    { text: 'calls in flight', value: figure('account.in_flight', account?.in_flight ?? 0) },
    { text: 'workers alive', value: figure('account.workers', account?.workers ?? 0) },
    { text: 'failed or unknown, of the runs below', value: sum(['failed', 'unknown']) },
  ])
}

/** A sentence with its commands ready to be copied. */
function typeable(step: string): readonly (Html | string)[] {
  return step
    .split(/(npm run [^;,]+)/)
    .map((piece) => (piece.startsWith('npm run ') ? command(piece.trim()) : piece))
}
