import { pipeline } from 'node:stream/promises'
import { readConfig } from '../../shared/config.ts'
import { exits, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { timeoutFlag, wordFlag } from '../../shared/terminal/flags.ts'
import { hintOrigins, readOrigins } from '../../store/analysis/origins.ts'
import { refreshDomains } from '../domains/refresh.ts'
import { openMill } from '../mill/mill.ts'
import { answerFormats, answerQuestion, describeLibrary, findQuestion } from './ask.ts'
import { readQuestions } from './questions.ts'

export interface SqlOptions {
  readonly format: string
  readonly json?: true
  readonly timeout: string
  readonly origins?: string
  readonly most: string
}

// What Postgres counts a time limit to.
const mostMs = 2 ** 31 - 1

/** Lists the library, or asks the tables one question and prints the answer as it comes. */
export async function askTables(call: Call<SqlOptions>): Promise<Exit> {
  const { options, args, env, closers } = call
  const format = wordFlag('format', options.json === true ? 'json' : options.format, answerFormats)
  const [typed, ...flags] = args
  if (typed === undefined) {
    if (format === 'json') printJson(readQuestions())
    else print(describeLibrary())
    return exits.done
  }
  const question = findQuestion(typed, flags)
  const timeoutMs = timeoutFlag(options.timeout, { like: '90s, at most 24d', mostMs })
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'sql' })
  await refreshDomains(mill.db, { zone: config.zone })
  const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
  const reading = { ...question, timeoutMs, origins, warn: say }
  // A question about the tables alone needs no hint about the views, unless that may be why there is no row.
  let views = /\banalysis\./i.test(question.text)
  const answer = answerQuestion(mill.pool, reading, {
    format,
    most: Number(options.most),
    say,
    empty: () => (views = true),
  })
  await pipeline(answer, process.stdout, { end: false })
  const hint = views ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
  return exits.done
}
