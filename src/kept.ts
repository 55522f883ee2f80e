import type { Clerk, Ended } from './credits/ended.ts'
import { record } from './credits/record.ts'
import type { Mill } from './mill.ts'
import { forget, spool, unspool } from './spool.ts'

/** Where answers wait that could not be written to the database. */
function spoolFolder(mill: Mill): string {
  return `${mill.config.home}/spool`
}

/** Settles what an earlier worker left in files, before anything is bought. */
export async function replay(
  mill: Mill,
  clerk: Clerk,
  tell: (line: string) => void,
): Promise<void> {
  const kept = unspool<{ account: number; ended: Ended }>(spoolFolder(mill), mill.installation)
  for (const { file, items, torn } of kept) {
    for (const account of new Set(items.map((item) => item.account))) {
      const ended = items.filter((item) => item.account === account).map((item) => item.ended)
      for (let start = 0; start < ended.length; start += 50) {
        await record(mill.db, { ...clerk, account }, ended.slice(start, start + 50))
      }
    }
    tell(
      `${items.length} answers kept in ${file} are in the database now${torn > 0 ? '; a last, torn line is lost' : ''}`,
    )
    forget(file)
  }
}

/** Keeps what could not be written to the database; gives back the file. */
export function keep(mill: Mill, account: number, left: readonly Ended[]): string {
  const items = left.map((ended) => ({ account, ended }))
  return spool(spoolFolder(mill), `${mill.installation}-${process.pid}-${Date.now()}`, items)
}
