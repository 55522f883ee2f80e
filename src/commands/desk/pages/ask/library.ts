import { readQuestions, type Question } from '../../../../store/analysis/library.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { definePage, type PagePlace } from '../../page.ts'
import { nothing, section, to } from '../../../drawing/parts.ts'
import { chooser, textField } from '../choose.ts'

/** What may be asked: the library, and SQL of one's own. */
export const askPage = definePage({
  path: '/ask',
  nav: 'Ask',
  ask: (address) => ({ word: address.text('word')?.toLowerCase() ?? null }),
  read: async (_, { word }) =>
    readQuestions().filter(
      ({ name, asks }) => word === null || `${name} ${asks}`.toLowerCase().includes(word),
    ),
  show: (questions, place, { word }) => ({
    title: 'Ask',
    lead: html`Questions that are ready to be asked, and
    ${to(place.href('/sql'), 'SQL of your own')}.`,
    body: html`${chooser(
      { place, name: 'Find a question' },
      textField({ name: 'word', label: 'A word of the question', value: word }),
      'Find',
    )}
    ${questions.length === 0 ? nothing('No question of the library has this word.', null) : list(questions, place)}
    ${elsewhere}`,
  }),
})

const elsewhere = nothing(
  'The answer to the chosen question would be here. In a terminal the same library is listed by',
  'npm run sql',
)

function list(questions: readonly Question[], place: PagePlace): Html {
  return section(
    { id: 'library', title: html`The library (${questions.length})` },
    html`<ul class="questions">
      ${questions.map(
        ({ name, asks }) =>
          html`<li>${to(place.href(`/ask/${name}`), asks)} <span class="soft">${name}</span></li>`,
      )}
    </ul>`,
  )
}
