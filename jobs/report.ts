import { runCommand, say } from '../src/shared/terminal/command.ts'
import { callerPath, readConfig } from '../src/shared/config.ts'
import { firstNames } from '../src/shared/terminal/wording.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import { domainName } from '../src/shared/hostname.ts'
import type { Database } from '../src/store/database.ts'
import { localDate } from '../src/shared/time/zone.ts'

interface Options {
  readonly to?: string
  readonly domains?: string
  readonly tag: string
  readonly origins?: string
}

await runCommand<Options>(
  {
    name: 'report',
    about:
      'Writes one page of pictures: runs, credits, rank history, movers and share of voice. It needs no network.',
    examples: [
      'npm run report -- --to report.html',
      'npm run report -- --to report.html --domains example.com,example.org',
      'npm run report -- --to report.html --tag brand --origins live,sandbox',
    ],
    define: (program) =>
      program
        .option('--to <file>', 'the file to write')
        .option('--domains <list>', 'domains to follow, three at most (default: ours)')
        .option('--tag <label>', 'share of voice over queries with this label', '*')
        .option('--origins <list>', 'kinds of answers to show, as in live,sandbox'),
  },
  async ({ options, env, closers }) => {
    if (options.to === undefined) throw new Misuse('expected --to with a file, got nothing')
    const { findTarget, writeTarget } = await import('../src/commands/export/target.ts')
    const path = callerPath(env, options.to)
    const target = await findTarget(path, options.to)
    const { mostDomains, readFigures } = await import('../src/store/analysis/figures.ts')
    const domains = readNames(options.domains ?? '', mostDomains)
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { refreshDomains } = await import('../src/commands/domains/refresh.ts')
    const { hintOrigins, readOrigins } = await import('../src/store/analysis/origins.ts')
    const { renderPage } = await import('../src/commands/report/page.ts')
    const mill = await openMill({ config, closers, say, name: 'report' })
    await refreshDomains(mill.db, { zone: config.zone })
    const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
    const today = localDate(config.zone, new Date())
    const figures = await readFigures(mill.db, { origins, tag: options.tag, domains, today })
    await writeTarget(target, [renderPage(figures, new Date())])
    if (figures.shares.length === 0) await explainTag(mill.db, options.tag)
    say(`the page is ${path}`)
    const hint = await hintOrigins(mill.db, origins)
    if (hint !== null) say(hint)
    return exits.done
  },
)

/** A domain too many is refused: left out without a word it would look like one that ranks for nothing. */
function readNames(typed: string, most: number): readonly string[] {
  const names = typed
    .split(',')
    .map(domainName)
    .filter((name) => name !== '')
  const domains = [...new Set(names)]
  if (domains.length <= most) return domains
  throw new Misuse(
    `expected --domains to name ${most} domains at most, got ${domains.length}; leave some out, or write a second page`,
  )
}

/** A slip of the pen must not look like a label that nobody ranks for. */
async function explainTag(db: Database, tag: string): Promise<void> {
  const { readLabels } = await import('../src/store/analysis/figures.ts')
  const labels = await readLabels(db)
  if (tag === '*' || labels.includes(tag)) return
  say(
    `no list has the label ${JSON.stringify(tag)}, so the page is without a share of voice; labels so far: ${firstNames(labels)}`,
  )
}
