import { Misuse } from '../../../../shared/errors.ts'
import { bindQuestion, readQuestions, type Question } from '../../../../store/analysis/library.ts'
import { writeRows } from '../../../export/rows.ts'
import { html } from '../../../drawing/html.ts'
import { NotThere, type PageAddress } from '../../address.ts'
import { definePage, type DeskReading, type FilePage } from '../../page.ts'
import { nothing, to } from '../../../drawing/parts.ts'
import { askFor, askForAll, type AskedRows } from './answer.ts'
import { drawAnswer, drawRefusal, drawSql } from './draw.ts'
import { drawForm, flagsOf, isWhole, lineOf, readTyped, type FormValues } from './form.ts'

const limits = { seconds: 30, rows: 500 }
const fileSeconds = 120

/** What became of asking. */
interface QuestionFound {
  readonly asked: AskedRows | null
  /** Why there is no answer; null: there is one, or none was asked for. */
  readonly refusal: string | null
}

function expectQuestion(address: PageAddress): Question {
  const name = address.part('question')
  const found = readQuestions().find((question) => question.name === name)
  if (found !== undefined) return found
  throw new NotThere(`The library has no question ${JSON.stringify(name.slice(0, 60))}.`)
}

function askTyped(address: PageAddress) {
  const question = expectQuestion(address)
  return { question, typed: readTyped(question, address), go: address.ticked('go') }
}

/** A question of the library: a form for what it must be told, and its answer. */
export const questionPage = definePage({
  path: '/ask/:question',
  ask: askTyped,
  read: async (reading, { question, typed, go }): Promise<QuestionFound> => {
    if (!go || !isWhole(question, typed)) return { asked: null, refusal: null }
    return answered(reading, question, typed)
  },
  show: ({ asked, refusal }, place, { question, typed }) => {
    const file = place.href(`/ask/${question.name}/rows.csv`, Object.fromEntries(typed))
    const title = question.asks
    return {
      title,
      lead: html`${to(place.href('/ask'), 'The library')} · ${question.name}`,
      body: html`${drawForm(question, typed, place)}
      ${refusal === null ? null : drawRefusal(refusal)}
      ${asked === null ? (refusal === null ? notYet : null) : drawAnswer(asked, { place, title, file })}
      ${drawSql(question.sql, lineOf(question.name, typed))}`,
    }
  },
})

const notYet = nothing(
  'The answer would be here, as a table, and as a picture where one fits. Press Ask.',
  null,
)

async function answered(
  reading: DeskReading,
  question: Question,
  typed: FormValues,
): Promise<QuestionFound> {
  try {
    const asked = await askFor(reading, bindQuestion(question, flagsOf(typed)), limits)
    return { asked, refusal: null }
  } catch (error) {
    if (error instanceof Misuse) return { asked: null, refusal: error.message }
    throw error
  }
}

/** The answer to a question of the library as a file. */
export const questionFile: FilePage = {
  path: '/ask/:question/rows.csv',
  send: async (address, reading) => {
    const { question, typed } = askTyped(address)
    const asked = bindQuestion(question, flagsOf(typed))
    const pieces = writeRows(askForAll(reading, asked, fileSeconds), 'csv')
    return { type: 'text/csv; charset=utf-8', name: `${question.name}.csv`, pieces }
  },
}
