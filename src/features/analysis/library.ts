import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { siteName } from '../../base/address.ts'
import { readSlice, type Slice, sliceFlags, spanFlags } from '../../base/database/views.ts'
import { Misuse } from '../../base/errors.ts'
import { root } from '../../base/root.ts'
import type { Inquiry } from './ask.ts'

const domains: readonly string[] = ['domain', 'rival']

/** Something that a question must be told. */
interface Parameter {
  readonly name: string
  readonly meaning: string
  /** Undefined: it must be given. Null: nothing, which the question understands. */
  readonly fallback: string | null | undefined
}

/** One file of the analysts' library. */
export interface Question {
  readonly name: string
  /** What it answers: the first line of the file. */
  readonly asks: string
  readonly parameters: readonly Parameter[]
  /** Flags that narrow the views it reads: to queries, to days. */
  readonly narrows: readonly string[]
  /** With $1, $2 … for the parameters, in their order. */
  readonly sql: string
}

/** Where the library lies. */
const questionFolder = join(root, 'sql', 'queries')

/** Reads the whole library, by name. */
export function readQuestions(folder = questionFolder): readonly Question[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) =>
      parseQuestion(file.slice(0, -'.sql'.length), readFileSync(join(folder, file), 'utf8')),
    )
}

/** Reads one question: a line that asks, a line for each parameter, the statement. */
export function parseQuestion(name: string, text: string): Question {
  const lines = text.split(/\r?\n/)
  const asks = /^-- (.+)$/.exec(lines[0] ?? '')?.[1]
  if (asks === undefined) throw new Error(`expected ${name}.sql to begin with what it answers`)
  const parameters: Parameter[] = []
  // Why it is about no query in particular, where it is not.
  const unsliced = lines[1]?.startsWith('-- unsliced: ') === true
  const begin = unsliced ? 2 : 1
  for (const line of lines.slice(begin)) {
    const match = /^-- :(\w+)(?: =( [^ (]+)?)? \((.+)\)$/.exec(line)
    if (match === null) break
    const [, parameter = '', value, meaning = ''] = match
    const fallback = line.includes(`:${parameter} =`) ? (value?.trim() ?? null) : undefined
    parameters.push({ name: parameter, meaning, fallback })
  }
  const statement = lines.slice(begin + parameters.length).join('\n')
  // A colon before a name is a parameter; two of them are a cast.
  const sql = statement.replace(/(?<!:):([a-z_]\w*)/g, (_, used: string) => {
    const index = parameters.findIndex((parameter) => parameter.name === used)
    if (index < 0) throw new Error(`expected ${name}.sql to declare :${used}`)
    return `$${index + 1}`
  })
  const narrows = [
    ...(unsliced ? [] : sliceFlags),
    ...(/\banalysis\.(in_span|since)\(/.test(statement) ? spanFlags : []),
  ].filter((flag) => parameters.every((parameter) => parameter.name !== flag))
  return { name, asks, parameters, narrows, sql }
}

/** What a question is asked with. */
interface Told {
  readonly values: readonly (string | null)[]
  readonly slice: Slice
}

/** The values of a question's parameters, and what it is narrowed to, from flags such as `--domain example.com`. */
export function bindParameters(question: Question, flags: readonly string[]): Told {
  const given = readFlags(flags)
  refuseOthers(question, given)
  const { parameters, narrows, name } = question
  const told = readSlice(new Map([...given].filter(([flag]) => narrows.includes(flag))))
  // What is about a day or a text reads few answers: those are looked up one by one.
  const few = parameters.some(({ name: parameter }) => parameter === 'day' || parameter === 'q')
  const slice = few ? told : { ...told, everyDay: true }
  // Where two days are compared, the later one is the question's own.
  const compares = question.sql.includes('analysis.since(')
  if (compares && slice.until !== undefined && !given.has('day')) given.set('day', [slice.until])
  const values = parameters.map(({ name: parameter, fallback, meaning }) => {
    const value = given.get(parameter)?.at(-1) ?? fallback
    if (value === '' || value === null) return null
    // The views know domains as they are counted, in one spelling.
    if (value !== undefined) return domains.includes(parameter) ? siteName(value) : value
    throw new Misuse(
      `expected --${parameter} (${meaning}), got nothing; type npm run sql -- ${name} --${parameter} …`,
    )
  })
  return { values, slice }
}

function refuseOthers({ name, parameters, narrows }: Question, given: Given): void {
  const known = [...parameters.map((parameter) => parameter.name), ...narrows]
  for (const flag of given.keys()) {
    if (known.includes(flag)) continue
    const list = known.map((each) => `--${each}`).join(', ')
    throw new Misuse(
      `expected a parameter of ${name}, got --${flag}; ${list === '' ? 'it has none' : `it has ${list}`}`,
    )
  }
}

type Given = Map<string, readonly string[]>

/** Flags with all values of each, in their order. */
export function readFlags(flags: readonly string[]): Given {
  const given: Given = new Map()
  for (let index = 0; index < flags.length; index++) {
    const match = /^--([a-z_]\w*)(?:=(.*))?$/s.exec(flags[index] ?? '')
    if (match === null) {
      throw new Misuse(
        `expected --parameter value, got ${JSON.stringify(flags[index])}; put quotes around a value of several words`,
      )
    }
    const name = match[1] ?? ''
    const value = match[2] ?? flags[++index]
    if (value === undefined) throw new Misuse(`expected a value after --${name}, got nothing`)
    given.set(name, [...(given.get(name) ?? []), value])
  }
  return given
}

/** What is to be asked, and of which queries and days. */
export type SqlQuestion = Pick<Inquiry, 'text' | 'values' | 'day' | 'slice'>

/** A question of the library with the values that flags give to it. */
export function bindQuestion(question: Question, flags: readonly string[]): SqlQuestion {
  const day = question.parameters.findIndex(
    ({ name, fallback }) => name === 'day' && fallback === 'newest',
  )
  const asked = { text: question.sql, ...bindParameters(question, flags) }
  return day === -1 ? asked : { ...asked, day }
}

/** A question of the library by name, or a text that is SQL itself. */
export function findQuestion(typed: string, flags: readonly string[]): SqlQuestion {
  // A name has no blanks, and no SQL that asks anything does without.
  if (/\s/.test(typed.trim())) return askSql(typed, flags)
  const questions = readQuestions()
  const found = questions.find(({ name }) => name === typed)
  if (found !== undefined) return bindQuestion(found, flags)
  const near = questions.filter(({ name }) => name.includes(typed.slice(0, 4)))
  throw new Misuse(
    `expected a question of the library or SQL in quotes, got ${JSON.stringify(typed)}; ${
      near.length === 0
        ? 'npm run sql lists the questions'
        : `perhaps ${near.map(({ name }) => name).join(', ')}`
    }`,
  )
}

function askSql(text: string, flags: readonly string[]): SqlQuestion {
  const given = readFlags(flags)
  const known: readonly string[] = sliceFlags
  const other = [...given.keys()].find((flag) => !known.includes(flag))
  if (other === undefined) return { text, values: [], slice: readSlice(given) }
  throw new Misuse(
    `expected SQL with ${known.map((flag) => `--${flag}`).join(', ')} behind it, got --${other}; put the value into the SQL`,
  )
}
