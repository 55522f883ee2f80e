import { accessSync, constants, mkdirSync } from 'node:fs'
import type { Clerk, Entry } from '../../credits/entry.ts'
import { asError, codeOf, Misuse, Unreachable } from '../../shared/errors.ts'
import { count } from '../../shared/terminal/wording.ts'
import type { Mill } from '../mill/mill.ts'
import { setBack } from '../../store/trouble.ts'
import { openBatch } from './batch.ts'
import { Reserve } from './reserve.ts'
import { forget, setAside, spool, unspool } from './spool.ts'

/** Room that is taken for an answer: twice its body and more, for a body of some forty kilobytes. */
const bytesOfAnswer = 128 * 1024

/** Where answers wait that could not be written to the database. */
function spoolFolder(mill: Mill): string {
  return `${mill.config.home}/spool`
}

/** Fails before anything is bought when paid answers could not be kept in a file. */
export function expectFolder(mill: Mill): void {
  const folder = spoolFolder(mill)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (cause) {
    throw new Misuse(
      `expected MILL_HOME to be a folder where paid answers can be kept while the database is away, got ${codeOf(cause) ?? 'an error'} for ${folder}; correct MILL_HOME, or its rights`,
      { cause },
    )
  }
}

/** Takes room for every answer that may be on its way at once; buys nothing where there is none. */
export function takeRoom(mill: Mill, calls: number): Reserve {
  const folder = spoolFolder(mill)
  const bytes = calls * bytesOfAnswer
  try {
    return Reserve.take(folder, bytes)
  } catch (cause) {
    throw new Unreachable(
      `expected ${(bytes / 1_000_000).toFixed(1)} MB of room in ${folder}, where ${calls} paid answers are kept when the database is away, got ${codeOf(cause) ?? 'an error'}: nothing is bought; make room, or lower MILL_CONCURRENCY`,
      { cause },
    )
  }
}

interface Kept {
  readonly account: number
  /** Named so in the files, which an older release may have left. */
  readonly ended: Entry
}

/** Settles what a worker that ended left in files: before anything is bought, and before calls are given up. */
export async function replay(
  mill: Mill,
  clerk: Clerk,
  tell: (line: string) => void,
): Promise<void> {
  for (const { file, items, torn } of unspool<Kept>(spoolFolder(mill), mill.installation)) {
    const strangers: Entry[] = []
    for (const account of new Set(items.map((item) => item.account))) {
      const entries = items.filter((item) => item.account === account).map((item) => item.ended)
      await settleAll(mill, { ...clerk, account }, { entries: entries.map(named), strangers })
    }
    const left = strangers.length + torn
    tell(`${items.length - strangers.length} answers kept in ${file} are in the database now`)
    if (left === 0) {
      forget(file)
    } else {
      tell(
        `${left} others in it are torn or of calls that this database does not know; they stay in ${setAside(file)}`,
      )
    }
  }
}

/** Files of an older release name a call by its number alone. */
function named(entry: Omit<Entry, 'call'> & { readonly call: Entry['call'] | number }): Entry {
  const { call } = entry
  return { ...entry, call: typeof call === 'number' ? { id: call, mark: null } : call }
}

/** Writes them like answers that have just come: together, and one by one where one is refused. */
async function settleAll(
  mill: Mill,
  clerk: Clerk,
  { entries, strangers }: { entries: readonly Entry[]; strangers: Entry[] },
): Promise<void> {
  let giveUp: (error: Error) => void = () => undefined
  const stuck = new Promise<never>((_resolve, reject) => (giveUp = reject))
  const batch = openBatch(mill, clerk, {
    lanes: 1,
    counted: true,
    onAway: (away) => {
      if (away) giveUp(new Unreachable('expected the database within reach, got none; try again'))
    },
    onStuck: (cause) => giveUp(asError(cause)),
    onStrangers: (found) => void strangers.push(...found),
  })
  try {
    await Promise.race([
      Promise.all(entries.map(async (entry) => batch.add(withoutKey(entry)))),
      stuck,
    ])
  } finally {
    batch.abandon()
  }
}

/** Without the refusal of a key: another one may be set by now, and its own first call tells whether it is good. */
function withoutKey(entry: Entry): Entry {
  return entry.signal === 'key_refused' ? { ...entry, signal: null } : entry
}

/** What became of answers that the database did not take. */
interface Aftermath {
  /** Null when none could be kept. */
  readonly file: string | null
  readonly kept: number
  /** How many are lost and what they cost; null when all are kept. */
  readonly lost: Unreachable | null
}

/** Keeps what could not be written to the database, as much of it as there is room for: first what was paid for. */
export function keep(
  mill: Mill,
  { account, reserve }: { account: number; reserve: Reserve | null },
  entries: readonly Entry[],
): Aftermath {
  const folder = spoolFolder(mill)
  const name = `${mill.installation}-${process.pid}-${Date.now()}`
  const items = entries.toSorted((a, b) => worth(b) - worth(a)).map((ended) => ({ account, ended }))
  try {
    const { file, left, cause } = spool({ folder, name, reserve }, items)
    if (left.length === 0) return { file, kept: items.length, lost: null }
    return { file, kept: items.length - left.length, lost: lossOf(folder, left, cause) }
  } catch (cause) {
    return { file: null, kept: 0, lost: lossOf(folder, items, cause) }
  }
}

/** An answer is worth keeping even if it told no price. */
function worth({ effect, creditsUsed }: Entry): number {
  return (effect.kind === 'answered' ? 0.5 : 0) + (creditsUsed ?? 0)
}

function lossOf(folder: string, items: readonly Kept[], cause: unknown): Unreachable {
  const answers = items.filter(({ ended }) => ended.effect.kind === 'answered')
  const prices = answers.flatMap(({ ended }) => ended.creditsUsed ?? [])
  const credits = prices.reduce((sum, price) => sum + price, 0)
  const untold = answers.length - prices.length
  const worths = [`${credits} credits worth`, ...(untold === 0 ? [] : [`${untold} told no price`])]
  return new Unreachable(
    `expected room in ${folder} for what the database did not take, got ${codeOf(cause) ?? 'an error'}: ${count(answers.length, 'paid answer')} lost, ${worths.join(', ')}, and may be bought again; make room before the next start`,
    { cause },
  )
}

/** Keeps answers that belong to no call of the database where nobody takes them for unsettled; the error says where. */
export function notKnown(
  mill: Mill,
  room: { account: number; reserve: Reserve | null },
  left: readonly Entry[],
): Error {
  const { file, lost } = keep(mill, room, left)
  const aside = file === null ? [] : [`are kept in ${setAside(file)}`]
  const where = [...aside, ...(lost === null ? [] : [lost.message])].join('; ')
  return setBack(`${left.length} paid answers of calls that it does not know ${where}`)
}
