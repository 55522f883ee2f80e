// Reads the named questions in `sql/queries`, and binds typed values to their parameters.

import { npmRun } from '../../base/cli/commands.ts'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { siteName } from '../../base/address.ts'
import { readSlice, sliceFlags, spanFlags } from '../../base/database/views.ts'
import { Misuse } from '../../base/errors.ts'
import { root } from '../../base/root.ts'
import type { Inquiry } from './ask.ts'

const domains: readonly string[] = ['domain', 'rival']

interface Parameter {
  readonly name: string
  readonly meaning: string
  /** Default value: undefined if the parameter is required, null if it may be empty. */
  readonly fallback: string | null | undefined
  readonly choices?: readonly string[]
}

export type Question = ReturnType<typeof parseQuestion>

export function readQuestions(folder = join(root, 'sql', 'queries')): readonly Question[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .flatMap((file) =>
      parseFile(file.slice(0, -'.sql'.length), readFileSync(join(folder, file), 'utf8')),
    )
}

/** Splits a file into questions. The first is named after the file; the others start with `-- show NAME:`. */
function parseFile(file: string, text: string): readonly Question[] {
  const [first = '', ...others] = text.split(/^(?=-- show [a-z]+: )/m)
  return [
    parseQuestion(file, first),
    ...others.map((part) => {
      const [, show = ''] = /^-- show ([a-z]+): /.exec(part) ?? []
      return parseQuestion(`${file}-${show}`, part.replace(/^-- show [a-z]+: /, '-- '))
    }),
  ]
}

/** Parses a question: a line with its wording, a line for each parameter, and the statement. */
export function parseQuestion(name: string, text: string) {
  const lines = text.split(/\r?\n/)
  const asks = /^-- (.+)$/.exec(lines[0] ?? '')?.[1]
  if (asks === undefined)
    throw new Error(`expected ${name}.sql to begin with the question that it answers`)
  const parameters: Parameter[] = []
  // If a question accepts no slice flags, its second line states the reason.
  const unsliced = lines[1]?.startsWith('-- unsliced: ') === true
  const begin = unsliced ? 2 : 1
  for (const line of lines.slice(begin)) {
    const match = /^-- :(\w+)( =(?: ([^ ([]+))?)?(?: \[([a-z_|]+)\])? \((.+)\)$/.exec(line)
    if (match === null) break
    const [, parameter = '', optional, value, choices, meaning = ''] = match
    const fallback = optional === undefined ? undefined : (value ?? null)
    parameters.push({
      ...{ name: parameter, meaning, fallback },
      ...(choices === undefined ? {} : { choices: choices.split('|') }),
    })
  }
  const statement = lines.slice(begin + parameters.length).join('\n')
  // A name after a single colon is a parameter. Two colons are a cast.
  const sql = statement.replace(/(?<!:):([a-z_]\w*)/g, (_, used: string) => {
    const index = parameters.findIndex((parameter) => parameter.name === used)
    if (index < 0) throw new Error(`expected ${name}.sql to declare :${used}`)
    return `$${index + 1}`
  })
  // Flags that restrict the question's views to certain queries or days.
  const narrows: readonly string[] = [
    ...(unsliced ? [] : sliceFlags),
    ...(/\banalysis\.(in_span|since)\(/.test(statement) ? spanFlags : []),
  ].filter((flag) => parameters.every((parameter) => parameter.name !== flag))
  return { name, asks, parameters, narrows, sql }
}

export type SqlQuestion = Pick<Inquiry, 'text' | 'values' | 'day' | 'slice'>

/** Reads a question's parameters and slice from flags such as `--domain example.com`. */
export function bindQuestion(question: Question, flags: readonly string[]) {
  return bind(question, readFlags(flags))
}

function bind(question: Question, given: ReturnType<typeof readFlags>) {
  const { parameters, narrows, name } = question
  const known = [...parameters.map((parameter) => parameter.name), ...narrows]
  const other = [...given.keys()].find((flag) => !known.includes(flag))
  if (other !== undefined) {
    const list = known.length === 0 ? 'none' : known.map((each) => `--${each}`).join(', ')
    throw new Misuse(`expected a parameter of ${name}, got --${other}; valid parameters: ${list}`)
  }
  const slice = readSlice(new Map([...given].filter(([flag]) => narrows.includes(flag))))
  // If two days are given, the later day applies.
  const ends = narrows.includes('until') && slice.until !== undefined
  if (ends && !given.has('day')) given.set('day', [slice.until])
  const values = parameters.map(({ name: parameter, fallback, meaning, choices }) => {
    const value = given.get(parameter)?.at(-1) ?? fallback
    if (value === '' || value === null) return null
    if (value !== undefined && choices?.includes(value) === false) {
      throw new Misuse(
        `expected --${parameter} to be one of ${choices.join(', ')}, got ${JSON.stringify(value)}`,
      )
    }
    // The views contain domains in normalized form.
    if (value !== undefined) return domains.includes(parameter) ? siteName(value) : value
    throw new Misuse(
      `expected --${parameter} (${meaning}), got nothing; run: ${npmRun('sql --')} ${name} --${parameter} …`,
    )
  })
  const day = parameters.findIndex(
    ({ name: each, fallback }) => each === 'day' && fallback === 'newest',
  )
  return { text: question.sql, values, slice, day: day === -1 ? undefined : day }
}

export function readFlags(flags: readonly string[]) {
  const given = new Map<string, readonly string[]>()
  for (let index = 0; index < flags.length; index++) {
    const match = /^--([a-z_]\w*)(?:=(.*))?$/s.exec(flags[index] ?? '')
    if (match === null) {
      throw new Misuse(
        `expected --parameter value, got ${JSON.stringify(flags[index])}; put quotes around a value that contains spaces`,
      )
    }
    const name = match[1] ?? ''
    const value = match[2] ?? flags[++index]
    if (value === undefined) throw new Misuse(`expected a value after --${name}, got nothing`)
    given.set(name, [...(given.get(name) ?? []), value])
  }
  return given
}

/** Finds a question by name, or treats the typed text as SQL. */
export function findQuestion(typed: string, flags: readonly string[]): SqlQuestion {
  const given = readFlags(flags)
  // SQL statements always contain a space; question names never do.
  if (/\s/.test(typed.trim())) return askSql(typed, given)
  const show = given.get('show')?.at(-1)
  const questions = readQuestions()
  const found = questions.find(
    ({ name }) => name === (show === undefined ? typed : `${typed}-${show}`),
  )
  if (found !== undefined) {
    given.delete('show')
    return bind(found, given)
  }
  const shown = questions
    .filter(({ name }) => name.startsWith(`${typed}-`))
    .map(({ name }) => name.slice(typed.length + 1))
  if (show !== undefined && shown.length > 0) {
    throw new Misuse(
      `expected --show for ${typed} to be one of ${shown.join(', ')}, got ${JSON.stringify(show)}`,
    )
  }
  const near = questions.filter(({ name }) => name.includes(typed.slice(0, 4)))
  const advice =
    near.length === 0
      ? `${npmRun('sql')} lists the questions`
      : `did you mean ${near.map(({ name }) => name).join(' or ')}?`
  throw new Misuse(
    `expected the name of a question or SQL in quotes, got ${JSON.stringify(typed)}; ${advice}`,
  )
}

function askSql(text: string, given: ReturnType<typeof readFlags>): SqlQuestion {
  const known: readonly string[] = sliceFlags
  const other = [...given.keys()].find((flag) => !known.includes(flag))
  if (other === undefined) return { text, values: [], slice: readSlice(given) }
  throw new Misuse(
    `expected SQL with ${known.map((flag) => `--${flag}`).join(', ')} after it, got --${other}; put the value into the SQL`,
  )
}
