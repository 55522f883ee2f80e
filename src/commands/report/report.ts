import { callerPath, readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { siteName } from '../../shared/hostname.ts'
import { say, type Call } from '../../shared/terminal/command.ts'
import { firstNames } from '../../shared/terminal/wording.ts'
import { localDate } from '../../shared/time/zone.ts'
import { mostDomains, readFigures, readLabels } from '../../store/analysis/figures.ts'
import { firstOrigins, hintOrigins, readOrigins } from '../../store/analysis/origins.ts'
import type { Database } from '../../store/database.ts'
import { findTarget, writeTarget } from '../export/target.ts'
import { openMill } from '../mill/mill.ts'
import { renderPage } from './page.ts'

export interface ReportOptions {
  readonly to?: string
  readonly domains?: string
  readonly tag: string
  readonly origins?: string
}

/** Writes the page of pictures into a file. */
export async function writeReport(call: Call<ReportOptions>): Promise<Exit> {
  const { options, env, closers } = call
  if (options.to === undefined) throw new Misuse('expected --to with a file, got nothing')
  const path = callerPath(env, options.to)
  const target = await findTarget(path, options.to)
  const domains = readNames(options.domains ?? '', mostDomains)
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'report', reading: true })
  const typed = options.origins === undefined ? undefined : readOrigins(options.origins)
  const first = { databaseUrl: config.databaseUrl, tell: say }
  const origins = typed ?? (await firstOrigins(mill.db, first))
  const today = localDate(config.zone, new Date())
  const figures = await readFigures(mill.db, { origins, tag: options.tag, domains, today })
  await writeTarget(target, [renderPage(figures, new Date())])
  if (figures.shares.length === 0) await explainTag(mill.db, options.tag)
  say(`the page is ${path}`)
  const hint = await hintOrigins(mill.db, origins)
  if (hint !== null) say(hint)
  return exits.done
}

/** Too many domains are refused: one left out without a word would look like one that ranks for nothing. */
function readNames(typed: string, most: number): readonly string[] {
  const names = typed
    .split(',')
    .map(siteName)
    .filter((name) => name !== '')
  const domains = [...new Set(names)]
  if (domains.length <= most) return domains
  throw new Misuse(
    `expected --domains to name ${most} domains at most, got ${domains.length}; leave some out, or write a second page`,
  )
}

/** A mistyped label must not look like a label that nobody ranks for. */
async function explainTag(db: Database, tag: string): Promise<void> {
  const labels = await readLabels(db)
  if (tag === '*' || labels.includes(tag)) return
  say(
    `no list has the label ${JSON.stringify(tag)}, so the page is without a share of voice; labels so far: ${firstNames(labels)}`,
  )
}
