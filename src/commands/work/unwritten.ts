import type { Clerk, Entry } from '../../credits/entry.ts'
import { asError, codeOf, Misuse, Unreachable } from '../../shared/errors.ts'
import type { Mill } from '../mill/mill.ts'
import { openBatch } from './batch.ts'
import { forget, setAside, spool, unspool } from './spool.ts'

/** Where answers wait that could not be written to the database. */
function spoolFolder(mill: Mill): string {
  return `${mill.config.home}/spool`
}

/** Fails before anything is bought when paid answers could not be kept in a file. */
export function expectRoom(mill: Mill): void {
  const folder = spoolFolder(mill)
  try {
    forget(spool(folder, `probe-${process.pid}-${Date.now()}`, []))
  } catch (cause) {
    throw new Misuse(
      `expected MILL_HOME to be a folder where paid answers can be kept while the database is away, got ${codeOf(cause) ?? 'an error'} for ${folder}; correct MILL_HOME, or its rights`,
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

/** Keeps what could not be written to the database; gives back the file. Says what is lost when no file takes it. */
export function keep(mill: Mill, account: number, left: readonly Entry[]): string {
  const items: Kept[] = left.map((ended) => ({ account, ended }))
  const folder = spoolFolder(mill)
  try {
    return spool(folder, `${mill.installation}-${process.pid}-${Date.now()}`, items)
  } catch (cause) {
    const answers = left.filter(({ effect }) => effect.kind === 'answered')
    const credits = answers.reduce((sum, { creditsUsed }) => sum + (creditsUsed ?? 0), 0)
    throw new Unreachable(
      `expected room in ${folder} for what the database did not take, got ${codeOf(cause) ?? 'an error'}: ${answers.length} paid answers are lost, ${credits} credits worth, and may be bought again; make room before the next start`,
      { cause },
    )
  }
}

/** Keeps answers that belong to no call of the database where nobody takes them for unsettled; gives back the file. */
export function keepAside(mill: Mill, account: number, left: readonly Entry[]): string {
  return setAside(keep(mill, account, left))
}
