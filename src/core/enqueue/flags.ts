// Reads the flags of the enqueue command, and checks the files that the user named.

import { join, resolve } from 'node:path'
import { wholeFlag } from '../../base/cli/flags.ts'
import { callerFolder, type Config, type Environment } from '../../base/config.ts'
import { Misuse } from '../../base/errors.ts'
import { defaultNum } from '../../base/query.ts'
import { workplace } from '../../base/root.ts'
import { localDate, readDuration } from '../../base/time/zone.ts'
import { findFiles, type ListFile, refuseTwins } from '../lists/files.ts'
import { everyTableOf, meansEvery, openSource } from '../lists/open.ts'
import { type ReadingFlags, type ReadOptions, readReading } from '../lists/options.ts'
import { openList } from '../lists/read.ts'
import type { ListOrder } from './staging.ts'

export interface EnqueueFlags extends ReadingFlags {
  readonly as?: string
  readonly maxAge?: string
  readonly budget?: string
  readonly maxCredits?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly join?: boolean
  readonly drop?: boolean
  readonly keep?: boolean
  readonly json?: boolean
}

/** Lists that passed every check that needs no database. */
export type Intake = Awaited<ReturnType<typeof openIntake>>

interface IntakeOptions {
  readonly args: readonly string[]
  readonly flags: EnqueueFlags
  readonly env: Environment
  readonly config: Config
  /** Stream that is read for the file name `-`. */
  readonly stream: AsyncIterable<unknown>
}

const mostCredits = 999_999_999_999

/** Checks the flags and the beginning of each file, before any list is planned. */
export async function openIntake(options: IntakeOptions) {
  const { args, flags, env, config, stream } = options
  const reading = readReading(flags)
  const maxAgeMs = maxAgeOf(flags.maxAge, config)
  const budget = wholeFlag('budget', flags.budget, mostCredits) ?? null
  const maxCredits = wholeFlag('max-credits', flags.maxCredits, mostCredits) ?? null
  const folder = callerFolder(env)
  const as = flags.as === undefined ? undefined : typedName(flags.as)
  const configs = join(workplace, 'inputs', 'config')
  const { files, skipped } = findFiles({ args, folder, config: configs, as })
  const lists = (await Promise.all(files.map((file) => listsOf(file, reading)))).flat()
  refuseTwins(lists, flags.as)
  const settings = {
    kind: 'manual',
    runDate: localDate(config.zone, new Date()),
    budget: budget ?? undefined,
    maxAgeMs,
    into: null,
    join: flags.join === true,
    ...(flags.drop === true && { ifRemoved: 'drop' as const }),
    ...(flags.keep === true && { ifRemoved: 'keep' as const }),
  } as const
  const orders = lists.map(({ name, path, shown, reading: own, notices }): ListOrder => {
    const from: ListOrder['from'] =
      path === null ? { kind: 'stream', stream } : { kind: 'file', path, shown }
    return { ...settings, list: name, from, reading: own, notices }
  })
  for (const { from, reading: own } of orders) {
    if (from.kind !== 'file') continue
    const source = await openSource(from, own)
    try {
      await openList(source, own)
    } finally {
      await source.close()
    }
  }
  return {
    orders,
    notices: skipped.map((shown) => `skipped ${resolve(folder, shown)}, which is not a list`),
    parameters: parametersOf(reading),
    maxAge: flags.maxAge ?? config.sources.get('MILL_MAX_AGE')?.shown ?? `${maxAgeMs} ms`,
    budget,
    /** Purchases above this cost are rejected. */
    maxCredits,
  }
}

/** Returns the list in a file or, with `--sheet all`, one list for each table in the file. */
async function listsOf(file: ListFile, reading: ReadOptions) {
  const { path, shown, name } = file
  if (!meansEvery(reading.sheet)) return [{ ...file, reading, notices: [] }]
  const every = { ...reading, sheet: undefined }
  if (path === null) return [{ ...file, reading: every, notices: [] }]
  const { sheets, notices } = await everyTableOf({ kind: 'file', path, shown }, every)
  return sheets.map((sheet, at) => ({
    ...file,
    // A table named "all" is read like any other table.
    name: sheet === undefined || meansEvery(sheet) ? name : tableName(name, sheet),
    reading: { ...reading, sheet },
    notices: at === 0 ? notices : [],
  }))
}

function tableName(name: string, sheet: string): string {
  return `${name} (${sheet.normalize('NFC').replace(/\p{Cc}/gu, ' ')})`
}

function maxAgeOf(typed: string | undefined, config: Config): number {
  if (typed === undefined) return config.maxAgeMs
  const maxAgeMs = readDuration(typed)
  if (maxAgeMs !== null) return maxAgeMs
  throw new Misuse(
    `expected --max-age to be a duration like 12h, 90m or 0, at most 36500d, got ${JSON.stringify(typed)}`,
  )
}

export function typedName(as: string): string {
  const name = as.normalize('NFC').trim()
  if (name === '' || name.length > 200 || /\p{Cc}/u.test(name)) {
    throw new Misuse(
      `expected --as to be a name of 1 to 200 printable characters, got ${JSON.stringify(as)}`,
    )
  }
  return name
}

function parametersOf({ defaults, matchTypes }: ReadOptions): string[] {
  const { num, priority } = defaults
  const named = Object.entries({
    ...defaults,
    num: num.length === 0 ? [`${defaultNum} unless the list specifies a number`] : num,
    priority: priority === null ? [] : [priority],
    'match types': matchTypes === 'strip' ? ['stripped'] : [],
  })
  return named.flatMap(([name, values]) =>
    values.length === 0 ? [] : [`${name} ${values.join(' | ')}`],
  )
}
