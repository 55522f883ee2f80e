// Runs the commands that load the shipped corpus and files of pages.

import { type Call, printJson, say } from '../../base/cli/command.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { findDatabase } from '../command.ts'
import { openTables } from '../database.ts'
import { readLines } from './document.ts'
import { addDocuments, loadShipped } from './load.ts'

export interface CorpusOptions {
  readonly json?: boolean
}

/** Runs `corpus load` or `corpus add`. */
export async function runCorpus({
  options,
  args: [action, ...files],
  env,
  closers,
}: Call<CorpusOptions>): Promise<Exit> {
  if (action !== 'load' && action !== 'add') {
    throw new Misuse(`expected load or add, got ${action}`)
  }
  if (action === 'add' && files.length === 0) throw new Misuse('expected a file, got none')
  const url = await findDatabase(readConfig(env))
  const { pool } = closers.add('tables', await openTables(url, 1), (tables) => tables.pool.end())
  const loaded = await loadShipped(pool)
  const pages = files.map((shown) => ({ shown, lines: readLines(callerPath(env, shown), shown) }))
  const { documents: added, rejected: problems } = await addDocuments(pool, pages)
  problems.forEach(say)
  const rejected = problems.length
  say(`${loaded} shipped documents loaded, ${added} added, ${rejected} lines left out`)
  if (options.json === true) printJson({ loaded, added, rejected })
  return rejected > 0 && added === 0 ? exits.usage : exits.done
}
