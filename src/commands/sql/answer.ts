import { pipeline } from 'node:stream/promises'
import { readConfig } from '../../shared/config.ts'
import { say, type Call } from '../../shared/terminal/command.ts'
import { firstOrigins, hintOrigins, readOrigins } from '../../store/analysis/origins.ts'
import { openAnalyst } from '../../store/analysis/login.ts'
import { hintLabels } from '../../store/analysis/slice.ts'
import { openMill } from '../mill/mill.ts'
import { readArchive, type AskedArchive } from '../mill/archive/asked.ts'
import type { SqlQuestion } from '../../store/analysis/library.ts'
import { answerQuestion, type AnswerFormat } from './ask.ts'

export interface SqlRequest {
  readonly question: SqlQuestion
  readonly timeoutMs: number
  readonly format: AnswerFormat
  /** Most rows of a table. */
  readonly most: number
  /** Kinds of answers to show, as they were typed. */
  readonly origins: string | undefined
  readonly suspects: boolean
  /** Which part of the archive is read as well; undefined: nothing. */
  readonly archive: AskedArchive | undefined
}

/** Opens the tables, asks them, and prints the answer as it comes. */
export async function printAnswer(
  { question, timeoutMs, format, most, archive, ...asked }: SqlRequest,
  { env, closers }: Pick<Call<unknown>, 'env' | 'closers'>,
): Promise<void> {
  const config = readConfig(env)
  const mill = await openMill({
    config,
    closers,
    say,
    name: 'sql',
    reading: true,
    behind: archive === undefined,
  })
  // A question about the tables alone needs no hint about the views, unless that may be why there is no row.
  let views = /\banalysis\./i.test(question.text)
  let found = true
  const empty = () => {
    views = true
    found = false
  }
  const typed = asked.origins === undefined ? undefined : readOrigins(asked.origins)
  const first = { databaseUrl: config.databaseUrl, tell: say }
  const origins = typed ?? (views ? await firstOrigins(mill.db, first) : undefined)
  const { installation } = mill
  const before = archive === undefined ? undefined : readArchive(archive, mill, question.text)
  const reading = { ...question, timeoutMs, origins, suspects: asked.suspects, warn: say, before }
  // Only who owns the tables may add to them, if only for one question.
  const url = archive === undefined ? config.analystUrl : null
  const pool =
    url === null
      ? mill.pool
      : closers.add(
          'the login',
          await openAnalyst({ url, installation, name: 'sql', max: 2 }),
          (open) => open.end(),
        )
  const answer = answerQuestion(pool, reading, { format, most, say, empty })
  await pipeline(answer, process.stdout, { end: false })
  const slice = found ? undefined : question.slice
  const unknown = slice === undefined ? null : await hintLabels(mill.db, slice)
  if (unknown !== null) say(unknown)
  const hint = views ? await hintOrigins(mill.db, origins) : null
  if (hint !== null) say(hint)
}
