import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Misuse } from '../../shared/errors.ts'
import { domainName } from '../../shared/hostname.ts'
import { root } from '../../shared/root.ts'

/** Something that a question must be told. */
export interface Parameter {
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
  for (const line of lines.slice(1)) {
    const match = /^-- :(\w+)(?: =( [^ (]+)?)? \((.+)\)$/.exec(line)
    if (match === null) break
    const [, parameter = '', value, meaning = ''] = match
    const fallback = line.includes(`:${parameter} =`) ? (value?.trim() ?? null) : undefined
    parameters.push({ name: parameter, meaning, fallback })
  }
  const statement = lines.slice(1 + parameters.length).join('\n')
  // A colon before a name is a parameter; two of them are a cast.
  const sql = statement.replace(/(?<!:):([a-z_]\w*)/g, (_, used: string) => {
    const index = parameters.findIndex((parameter) => parameter.name === used)
    if (index < 0) throw new Error(`expected ${name}.sql to declare :${used}`)
    return `$${index + 1}`
  })
  return { name, asks, parameters, sql }
}

/** The values of a question's parameters from flags such as `--domain example.com`. */
export function bindParameters(
  { name, parameters }: Question,
  flags: readonly string[],
): readonly (string | null)[] {
  const given = readFlags(flags)
  for (const flag of given.keys()) {
    if (parameters.some((parameter) => parameter.name === flag)) continue
    const known = parameters.map((parameter) => `--${parameter.name}`).join(', ')
    throw new Misuse(
      `expected a parameter of ${name}, got --${flag}; ${known === '' ? 'it has none' : `it has ${known}`}`,
    )
  }
  return parameters.map(({ name: parameter, fallback, meaning }) => {
    const value = given.get(parameter) ?? fallback
    if (value === '' || value === null) return null
    // The views know domains as they are counted, in one spelling.
    if (value !== undefined) return parameter === 'domain' ? domainName(value) : value
    throw new Misuse(
      `expected --${parameter} (${meaning}), got nothing; type npm run sql -- ${name} --${parameter} …`,
    )
  })
}

function readFlags(flags: readonly string[]): ReadonlyMap<string, string> {
  const given = new Map<string, string>()
  for (let index = 0; index < flags.length; index++) {
    const match = /^--([a-z_]\w*)(?:=(.*))?$/s.exec(flags[index] ?? '')
    if (match === null) {
      throw new Misuse(
        `expected --parameter value, got ${JSON.stringify(flags[index])}; put quotes around a value of several words`,
      )
    }
    const value = match[2] ?? flags[++index]
    if (value === undefined) {
      throw new Misuse(`expected a value after --${match[1]}, got nothing`)
    }
    given.set(match[1] ?? '', value)
  }
  return given
}
