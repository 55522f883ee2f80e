import { rename, writeFile } from 'node:fs/promises'
import { runCommand, say } from '../src/command.ts'
import { callerPath, readConfig } from '../src/config.ts'
import { exits, Misuse } from '../src/errors.ts'

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
    const config = readConfig(env)
    const { openMill } = await import('../src/mill.ts')
    const { refreshDomains } = await import('../src/domains.ts')
    const { hintOrigins, readOrigins } = await import('../src/store/analysis.ts')
    const { readFigures } = await import('../src/store/figures.ts')
    const { renderPage } = await import('../src/report/page.ts')
    const mill = await openMill({ config, closers, say, name: 'report' })
    await refreshDomains(mill.db, { zone: config.zone })
    const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
    const domains = (options.domains ?? '')
      .split(',')
      .map((domain) =>
        domain
          .trim()
          .toLowerCase()
          .replace(/^www\./, ''),
      )
      .filter((domain) => domain !== '')
    const figures = await readFigures(mill.db, { origins, tag: options.tag, domains })
    const path = callerPath(env, options.to)
    await writeFile(`${path}.part`, renderPage(figures, new Date()))
    await rename(`${path}.part`, path)
    say(`the page is ${path}`)
    const hint = await hintOrigins(mill.db, origins)
    if (hint !== null) say(hint)
    return exits.done
  },
)
