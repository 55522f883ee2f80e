import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { callerPath, readConfig } from '../src/shared/config.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import { buildCorpus } from '../src/service/corpus/build.ts'
import { addDocuments, loadShipped, shippedFile } from '../src/service/corpus/load.ts'
import { openPages, type PageFile } from '../src/service/corpus/pages.ts'
import { openTables } from '../src/service/database.ts'

interface Options {
  readonly out: string
  readonly json?: boolean
}

await runCommand<Options>(
  {
    name: 'corpus',
    about: 'Fills the documents that live keys find without a network.',
    examples: [
      'npm run corpus -- load',
      'npm run corpus -- add pages.jsonl',
      'npm run corpus -- build packages/*',
    ],
    define: (program) =>
      program
        .argument(
          '<action>',
          'load the shipped documents, add JSONL files, or build the shipped file',
        )
        .argument(
          '[files...]',
          'for add: lines of {"url", "title", "text"}; for build: unpacked packages',
        )
        .option('--out <file>', 'where build writes', shippedFile)
        .option('--json', 'one JSON object on stdout'),
  },
  async ({ options, args: [action, ...files], env, closers }) => {
    if (action === 'build') {
      const paths = files.map((path) => callerPath(env, path))
      printJson(buildCorpus(paths, callerPath(env, options.out)))
      return exits.done
    }
    if (action !== 'load' && action !== 'add') {
      throw new Misuse(`expected load, add or build, got ${action}`)
    }
    if (action === 'add' && files.length === 0) throw new Misuse('expected a file, got none')
    // Before anything is loaded: a slip in the last name must not leave half of the files added.
    const opened: PageFile[] = []
    for (const file of files) {
      const pages = await openPages(callerPath(env, file), file)
      opened.push(closers.add(file, pages, (one) => one.close()))
    }
    const { databaseUrl, home } = readConfig(env)
    const { ensurePostgres } = await import('../src/embedded/postgres.ts')
    const url = databaseUrl ?? (await ensurePostgres(home, { say })).url
    const { pool } = closers.add('tables', await openTables(url, 1), (tables) => tables.pool.end())
    const loaded = await loadShipped(pool)
    let [added, rejected] = [0, 0]
    for (const pages of opened) {
      const one = await addDocuments(pool, pages)
      added += one.documents
      rejected += one.rejected.length
      one.rejected.forEach(say)
    }
    say(`${loaded} shipped documents loaded, ${added} added, ${rejected} lines left out`)
    if (options.json === true) printJson({ loaded, added, rejected })
    return rejected > 0 && added === 0 ? exits.usage : exits.done
  },
)
