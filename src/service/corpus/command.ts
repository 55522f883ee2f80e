// Runs the commands that load the shipped corpus and page files.

import { type Call, printJson, say } from '../../base/cli/command.ts'
import { callerPath } from '../../base/config.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { openTablesOf } from '../database.ts'
import { addDocuments, loadShipped, readLines } from './load.ts'

export async function runCorpus({ options, args, env, closers }: Call): Promise<Exit> {
  const [action, ...files] = args
  if (action !== 'load' && action !== 'add') {
    throw new Misuse(`expected load or add, got ${action}`)
  }
  if (action === 'add' && files.length === 0) throw new Misuse('expected a file, got none')
  const { pool } = await openTablesOf(env, closers)
  const loaded = await loadShipped(pool)
  const pages = files.map((shown) => ({ shown, lines: readLines(callerPath(env, shown), shown) }))
  const { documents: added, rejected: problems } = await addDocuments(pool, pages)
  problems.forEach(say)
  const rejected = problems.length
  say(`${loaded} shipped documents loaded, ${added} added, ${rejected} lines left out`)
  if (options.json === true) printJson({ loaded, added, rejected })
  return rejected > 0 && added === 0 ? exits.usage : exits.done
}
