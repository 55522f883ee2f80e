import { createInterface } from 'node:readline/promises'
import { Misuse } from '../../shared/errors.ts'
import { count } from '../../shared/terminal/wording.ts'

/** Asks a person; null where there is none. */
export type AskPerson = ((question: string) => Promise<boolean>) | null

/** Asks before live credits are spent; where nobody is there to ask, it says what was left undone. */
export function askToBuy(queries: number, ask: AskPerson, undone: string): Promise<boolean> {
  const calls = count(queries, 'call')
  if (ask !== null) return ask(`Buy ${calls}? [y/N] `)
  throw new Misuse(
    `expected --yes for a purchase of ${calls}, got none and nobody to ask; ${undone}`,
  )
}

/** Asks on the terminal; anything but yes is a no. */
export async function askPerson(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim())
  } finally {
    lines.close()
  }
}
