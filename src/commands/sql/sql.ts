import { exits, type Exit } from '../../shared/errors.ts'
import { print, printJson, type Call } from '../../shared/terminal/command.ts'
import { timeoutFlag, wordFlag } from '../../shared/terminal/flags.ts'
import { findQuestion, readQuestions } from '../../store/analysis/library.ts'
import { archiveFlags } from '../mill/archive/flags.ts'
import { answerFormats, describeLibrary } from './ask.ts'

export interface SqlOptions {
  readonly format: string
  readonly json?: true
  readonly timeout: string
  readonly origins?: string
  readonly suspects?: true
  readonly most: string
  readonly withArchive?: true
  readonly archived?: string
  readonly archive?: string
}

// What Postgres counts a time limit to.
const mostMs = 2 ** 31 - 1

/** Lists the library, or asks the tables one question and prints the answer as it comes. */
export async function askTables(call: Call<SqlOptions>): Promise<Exit> {
  const { options, args } = call
  const format = wordFlag('format', options.json === true ? 'json' : options.format, answerFormats)
  const [typed, ...flags] = args
  if (typed === undefined) {
    if (format === 'json') printJson(readQuestions())
    else print(describeLibrary())
    return exits.done
  }
  const asked = {
    question: findQuestion(typed, flags),
    timeoutMs: timeoutFlag(options.timeout, { like: '90s, at most 24d', mostMs }),
    format,
    most: Number(options.most),
    origins: options.origins,
    suspects: options.suspects === true,
    archive: archiveFlags(options, call.env),
  }
  // The library is listed, and a mistyped question refused, without loading what opens the tables.
  const { printAnswer } = await import('./answer.ts')
  await printAnswer(asked, call)
  return exits.done
}
