import type { PageAddress } from '../../address.ts'
import { BadAddress } from '../../address.ts'
import type { Question } from '../../../../store/analysis/library.ts'
import { typed as typedWord } from '../../../../shared/terminal/wording.ts'
import { isDay } from '../../../../shared/time/zone.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { keptFilters } from '../choose.ts'

/** What a form says: names and values. */
export type FormValues = ReadonlyMap<string, string>

/** Flags that the form offers; the span as two days is enough. */
const offered = ({ narrows }: Question) => narrows.filter((flag) => flag !== 'between')

const dayNames = ['day', 'since', 'until']

/** The values of a question's form, as the address has them; refuses a day that is none. */
export function readTyped(question: Question, address: PageAddress): FormValues {
  const names = [...question.parameters.map(({ name }) => name), ...offered(question)]
  const typed = new Map<string, string>()
  for (const name of names) {
    const text = address.text(name)
    if (text === null) continue
    if (dayNames.includes(name) && text !== 'newest' && !isDay(text)) {
      throw new BadAddress(
        `${name}: expected a day like 2026-11-22, got ${JSON.stringify(text.slice(0, 60))}.`,
      )
    }
    typed.set(name, text)
  }
  return typed
}

/** The same as flags of a command. */
export function flagsOf(typed: FormValues): readonly string[] {
  return [...typed].map(([name, value]) => `--${name}=${value}`)
}

/** What to type for the same in a terminal. */
export function lineOf(name: string, typed: FormValues): string {
  const flags = [...typed].map(([flag, value]) => ` --${flag} ${typedWord(value)}`)
  return `npm run sql -- ${name}${flags.join('')}`
}

/** True: nothing that must be told is missing. */
export function isWhole({ parameters }: Question, typed: FormValues): boolean {
  return parameters.every(({ name, fallback }) => fallback !== undefined || typed.has(name))
}

/** A field for each parameter, and further ones that narrow what is asked. */
export function drawForm(question: Question, typed: FormValues, place: PagePlace): Html {
  return html`<form
    class="filters"
    method="get"
    action="/ask/${question.name}"
    aria-label="What to ask"
  >
    ${keptFilters(place)} <input type="hidden" name="go" value="1" />
    ${question.parameters.map((parameter) => field(parameter, typed))} ${narrowing(question, typed)}
    <button class="main">Ask</button>
  </form>`
}

function field(
  { name, meaning, fallback }: Question['parameters'][number],
  typed: FormValues,
): Html {
  const must = fallback === undefined ? html`required` : null
  return html`<label
    >${name} <span class="meaning">${meaning}</span>
    <input
      name="${name}"
      value="${typed.get(name) ?? ''}"
      placeholder="${fallback ?? ''}"
      dir="auto"
      autocomplete="off"
      ${must}
  /></label>`
}

function narrowing(question: Question, typed: FormValues): Html | null {
  const narrows = offered(question)
  if (narrows.length === 0) return null
  const open = narrows.some((name) => typed.has(name)) ? html`open` : null
  return html`<details class="narrow" ${open}>
    <summary>Only some queries${narrows.includes('since') ? ' or days' : ''}</summary>
    <div class="filters">
      ${narrows.map(
        (name) =>
          html`<label
            >${name}
            <input
              name="${name}"
              value="${typed.get(name) ?? ''}"
              type="${dayNames.includes(name) ? 'date' : 'text'}"
              dir="auto"
              autocomplete="off"
          /></label>`,
      )}
    </div>
  </details>`
}
