// npm run tour: runs every question in docs/analysis.md again and writes the answers into the page. It uses the
// database that DATABASE_URL names, which should come from `npm run demo -- --nights 12`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answerQuestion } from '../../src/features/analysis/sql-command.ts'
import { findQuestion } from '../../src/features/analysis/library.ts'
import { root } from '../../src/base/root.ts'
import { openPool, type Pool } from '../../src/base/database/database.ts'
import { asksOf, withAnswers } from './asks.ts'

const most = 5
const page = join(root, 'docs', 'analysis.md')

const url = process.env['DATABASE_URL']
if (url === undefined) {
  throw new Error(
    'expected DATABASE_URL to name the demo, got nothing; npm run stack -- status prints it',
  )
}
const pool = openPool(url, { name: 'tour', max: 1 })
try {
  const text = readFileSync(page, 'utf8')
  const answers: string[] = []
  for (const { typed, flags } of asksOf(text)) answers.push(await answer(pool, typed, flags))
  writeFileSync(page, withAnswers(text, answers))
} finally {
  await pool.end()
}

async function answer(from: Pool, typed: string, flags: readonly string[]): Promise<string> {
  const reading = { ...findQuestion(typed, flags), timeoutMs: 60_000, warn: () => undefined }
  let shown = ''
  const how = {
    format: 'table',
    most: most + 1,
    say: () => undefined,
    empty: () => undefined,
  } as const
  for await (const piece of answerQuestion(from, reading, how)) shown += piece
  const lines = shown
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd())
  return lines.length > most + 1 ? [...lines.slice(0, most + 1), '…'].join('\n') : lines.join('\n')
}
