// Runs the commands that load the shipped corpus and files of pages.

import { type Call, printJson, say } from '../../base/cli/command.ts'
import { callerPath, readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { findDatabase } from '../command.ts'
import { openTables } from '../database.ts'
import { openPages, type PageFile } from './document.ts'
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
  // Opens all files before loading any, so that a mistyped last name does not leave half of them added.
  const opened: PageFile[] = []
  for (const file of files) {
    const pages = await openPages(callerPath(env, file), file)
    opened.push(closers.add(file, pages, (one) => one.close()))
  }
  const url = await findDatabase(readConfig(env))
  const { pool } = closers.add('tables', await openTables(url, 1), (tables) => tables.pool.end())
  const loaded = await loadShipped(pool)
  let [added, rejected] = [0, 0]
  for (const pages of opened) {
    const found = await addDocuments(pool, pages)
    added += found.documents
    rejected += found.rejected.length
    found.rejected.forEach(say)
  }
  say(`${loaded} shipped documents loaded, ${added} added, ${rejected} lines left out`)
  if (options.json === true) printJson({ loaded, added, rejected })
  return rejected > 0 && added === 0 ? exits.usage : exits.done
}
