import { join } from 'node:path'
import { planList, queueRun, type ListPlan } from './enqueue/planning.ts'
import { noDefaults } from '../lists/requests.ts'
import { loadFirstDomains } from './domains/domains.ts'
import { openMill, type Mill } from './mill/mill.ts'
import { readConfig } from '../shared/config.ts'
import { exits, Misuse, type Exit } from '../shared/errors.ts'
import { root } from '../shared/root.ts'
import { Secret } from '../shared/secret.ts'
import { print, printJson, say, type Call } from '../shared/terminal/command.ts'
import { formatTable } from '../shared/terminal/table.ts'
import type { Summary } from './work/tally.ts'
import { work } from './work/work.ts'
import { setOrigins } from '../store/analysis/origins.ts'
import { askQuestion, countRows, hasLiveAnswers, question } from '../store/operator/demo.ts'
import { localDate } from '../shared/time/zone.ts'
import { dayMs } from '../shared/time/duration.ts'

export interface DemoFlags {
  readonly nights?: string
  readonly json?: true
}

/** Starts a search service whose answers drift from day to day, with a key to buy from it. */
export type StartDrifting = (options: {
  readonly databaseUrl: string
  readonly today: () => Date
}) => Promise<{ readonly url: string; readonly key: string; close(): Promise<void> }>

const mostNights = 400

/** From nothing to answered tables on this machine, and then says where to look. */
export async function runDemo(
  { options, env, closers, signal }: Call<DemoFlags>,
  startDrifting: StartDrifting,
): Promise<Exit> {
  const nights = readNights(options.nights)
  say('SANDBOX: the bundled service answers, no credits are spent')
  // Whatever is set: a demo never buys from an API that costs money.
  const config = { ...readConfig(env), api: null, account: null }
  const mill = await openMill({ config, closers, say, name: 'demo', connections: 5 })
  const drainOptions = { signal, tell: say }
  say('reading inputs/keywords.csv, buying an answer for each query')
  let summary = await runSample(mill, drainOptions)
  if (nights > 0 && summary.finish === 'completed') {
    let day = new Date()
    const service = await startDrifting({ databaseUrl: mill.databaseUrl, today: () => day })
    closers.add('the drifting service', service, (open) => open.close())
    const setDay = (next: Date) => {
      day = next
    }
    const history = { ...drainOptions, nights, setDay }
    summary = (await runNights(withApi(mill, service), history)) ?? summary
  }
  await showSandboxInViews(mill)
  await makeDomainsOurs(mill)
  await tellWhatIsThere(mill, options.json === true)
  return summary.finish === 'completed' ? exits.done : exits.failures
}

function readNights(typed: string | undefined): number {
  const nights = typed === undefined ? 0 : Number(typed)
  if (Number.isSafeInteger(nights) && nights >= 0 && nights <= mostNights) return nights
  throw new Misuse(`expected --nights from 1 to ${mostNights}, got ${typed}`)
}

/** The same mill, still marked as the sandbox, buying from another address with a key and an account of its own. */
function withApi(mill: Mill, { url, key }: { url: string; key: string }): Mill {
  const supplier = { ...mill.supplier, account: 'demo' }
  return { ...mill, supplier, api: async () => ({ url: new URL(url), key: new Secret(key) }) }
}

/** The views show live answers only; a database of this machine's own that has none may show the sandbox's. */
async function showSandboxInViews(mill: Mill): Promise<void> {
  if (mill.config.databaseUrl !== null || (await hasLiveAnswers(mill.db))) return
  await setOrigins(mill.db, 'live,sandbox')
  say('the views of this database now show answers of the sandbox too (querymill.origins)')
}

/** The demo pretends to be two domains of its answers, where nobody has said which are ours. */
async function makeDomainsOurs(mill: Mill): Promise<void> {
  if (await hasLiveAnswers(mill.db)) return
  const shown = 'inputs/demo/domains.csv'
  const today = localDate(mill.config.zone, new Date())
  await loadFirstDomains(mill.db, { path: join(root, shown), shown, today })
}

async function tellWhatIsThere(mill: Mill, json: boolean): Promise<void> {
  const counts = await countRows(mill.db)
  const answer = await askQuestion(mill.db)
  if (json) {
    printJson({ sandbox: true, tables: Object.fromEntries(counts), answer })
    return
  }
  print(`\n${formatTable(['table', 'rows'], counts, { right: ['rows'] })}`)
  print('\nWhich hosts hold the most places among the first three?\n')
  print(question)
  const rows = answer.map(({ host, queries, best }) => [host, queries, best])
  print(`\n${formatTable(['host', 'queries', 'best'], rows, { right: ['queries', 'best'] })}`)
  print('\nSANDBOX: these answers come from the bundled service. Next:')
  print('  npm run sql                                    the library of questions')
  print('  npm run enqueue -- your.csv --dry-run          what your own list would cost')
  print('  npm run status                                 runs, credits, what to type next')
  print('  npm run stack -- status                        the database, for any SQL client')
}

interface Draining {
  readonly signal: AbortSignal
  readonly tell: (line: string) => void
}

/** The sample list, from file to answered tables, as enqueue and work do it. */
async function runSample(mill: Mill, options: Draining): Promise<Summary> {
  const runDate = localDate(mill.config.zone, new Date())
  await planSample(mill, {
    list: 'keywords',
    kind: 'manual',
    runDate,
    maxAgeMs: mill.config.maxAgeMs,
  })
  return drain(mill, options)
}

/** One run a day, oldest first, through the pipeline itself; `setDay` tells the service which day it is. */
async function runNights(
  mill: Mill,
  { nights, setDay, ...options }: Draining & { nights: number; setDay: (day: Date) => void },
): Promise<Summary | null> {
  let last: Summary | null = null
  for (let ago = nights - 1; ago >= 0 && !options.signal.aborted; ago -= 1) {
    const day = new Date(Date.now() - ago * dayMs)
    setDay(day)
    const runDate = localDate(mill.config.zone, day)
    // Dates of the past are bought today: the list's name marks them as a history that was made, not lived.
    await planSample(mill, { list: 'demo-history', kind: 'nightly', runDate, maxAgeMs: 0 })
    last = await drain(mill, options)
    options.tell(`${runDate}: ${last.answered} answered`)
    if (last.finish !== 'completed') break
  }
  return last
}

interface Sample {
  readonly list: string
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  readonly maxAgeMs: number
}

async function planSample(mill: Mill, sample: Sample): Promise<ListPlan> {
  const shown = 'inputs/keywords.csv'
  const plan = await planList(
    { db: mill.db, supplier: mill.supplier },
    {
      ...sample,
      from: { kind: 'file', path: join(root, shown), shown },
      reading: { matchTypes: 'keep', defaults: noDefaults },
      budget: undefined,
      into: null,
    },
  )
  await queueRun({ db: mill.db }, await mill.queue(), plan.run)
  return plan
}

function drain(mill: Mill, options: Draining): Promise<Summary> {
  return work(mill, { drain: true, lanes: mill.config.concurrency, ...options })
}
