import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../src/base/errors.ts'
import type { FrontBooks } from './front.ts'
import type { PurseWitness, Sums, TaskWitness } from './witness.ts'

/** A period whose events the tables lost when a copy was restored, in milliseconds since 1970. */
export interface Setback {
  readonly from: number
  readonly until: number
}

/** Credits that an account lost, or may have lost, without any worker being able to know at the time. */
export interface Excuse {
  readonly account: string
  readonly at: number
  readonly credits: number
}

/** Effects of the faults, in figures. */
export interface Judgement {
  readonly tasks: number
  readonly states: Readonly<Record<string, number>>
  readonly calls: number
  readonly unsent: number
  readonly charges: number
  readonly creditsCharged: number
  readonly creditsUsed: number
  readonly creditsHeld: number
  readonly ambiguous: number
  /** Charges for calls that the tables lost when a copy was restored. */
  readonly forgotten: number
  /** External spend across all accounts. */
  readonly foreign: number
  /** Credits that were charged although the reply reports no cost. */
  readonly lied: number
  /** The lowest balance of each account. */
  readonly least: readonly number[]
  readonly floor: number
  readonly lost: number
  readonly boughtTwice: number
  readonly wrong: number
  /** The longest time that the fleet stalled although it could have worked, and the limit. */
  readonly stoodMs: number
  readonly longestStandMs: number
  /** Violations, one sentence each; empty if there are none. */
  readonly violations: readonly string[]
}

export interface Evidence {
  /** The API's records for each account, by the account's name. */
  readonly books: ReadonlyMap<string, FrontBooks>
  readonly setbacks: readonly Setback[]
  /** Calls that read a new key's balance. */
  readonly keyChecks: readonly Excuse[]
  /** Maximum time until a worker knows about external spend. */
  readonly unknownForMs: number
  readonly tasks: readonly TaskWitness[]
  readonly sums: Sums
  readonly purses: readonly PurseWitness[]
  readonly budgets: readonly { readonly list: string; readonly budget: number }[]
  readonly floor: number
  readonly stoodMs: number
  readonly longestStandMs: number
  readonly accidents: readonly string[]
  /** If true, the API charges a call once, however often it is requested, so a lost reply excuses nothing. */
  readonly replays: boolean
  /** Files that contain a key. */
  readonly leaks: readonly string[]
}

/** Charges for a query, and how many of them belong to lost periods. */
interface Paid {
  charges: number
  shady: number
}

/** Compares the tables with the API's records, independent of the program's own checks. */
export function judgeChaos(evidence: Evidence): Judgement {
  const { books, purses, sums, floor, stoodMs, longestStandMs } = evidence
  const { unheardOf, strays, twice, ...tasks } = judgeTasks(evidence)
  const allBooks = [...books.values()]
  const charges = allBooks.flatMap((book) => book.charges)
  return {
    ...tasks,
    calls: sums.calls,
    unsent: sums.unsent,
    charges: charges.filter(({ charged }) => charged > 0).length,
    creditsCharged: total(allBooks.map(({ charged }) => charged)),
    creditsUsed: total(purses.map(({ used }) => used)),
    creditsHeld: total(purses.map(({ held }) => held)),
    foreign: total(allBooks.map(foreignCredits)),
    lied: total(charges.map(({ lied }) => lied)),
    least: allBooks.map(({ least }) => least),
    floor,
    wrong: sums.wrong,
    stoodMs,
    longestStandMs,
    violations: [
      ...problem(
        tasks.boughtTwice,
        `charges beyond the first and those nobody could read: ${twice.slice(0, 3).join(', ')}`,
      ),
      ...problem(unheardOf, 'charges of calls that the tables do not know'),
      ...problem(strays, 'queries were charged that no task asks'),
      ...problem(tasks.lost, 'tasks came to no end'),
      ...problem(sums.in_flight, 'calls stayed in flight'),
      ...problem(sums.without_body, 'answers have no body'),
      ...problem(sums.miscounted, 'answers have other rows than their body'),
      ...problem(sums.wrong, 'answers are stored for another query than they were given to'),
      ...problem(sums.misdated, 'answers bear a time before their call, or one to come'),
      ...judgePurses(evidence),
      ...judgeBudgets(evidence),
      ...judgeRest(evidence),
    ],
  }
}

/** Checks each task: the charges for its query, and which of them are accounted for. */
function judgeTasks(evidence: Evidence) {
  const { tasks } = evidence
  const paid = countCharges(evidence)
  const states: Record<string, number> = {}
  const twice: string[] = []
  let [ambiguous, boughtTwice, forgotten, unheardOf] = [0, 0, 0, 0]
  for (const task of tasks) {
    states[task.state] = (states[task.state] ?? 0) + 1
    ambiguous += task.ambiguous
    const { charges, shady } = paid.get(task.q) ?? { charges: 0, shady: 0 }
    const beyondCalls = Math.max(0, charges - task.chargeable)
    const forgiven = Math.min(shady, beyondCalls)
    forgotten += forgiven
    unheardOf += beyondCalls - forgiven
    const beyond = Math.max(0, charges - forgiven - 1 - (evidence.replays ? 0 : task.ambiguous))
    if (beyond > 0) twice.push(task.q)
    boughtTwice += beyond
    paid.delete(task.q)
  }
  // The remaining queries belong to lists that the tables lost completely.
  const strays = [...paid.values()].filter(({ charges, shady }) => charges > shady).length
  forgotten += total([...paid.values()].map(({ shady }) => shady))
  const lost = states['open'] ?? 0
  return {
    ...{ tasks: tasks.length, states, ambiguous, boughtTwice },
    ...{ forgotten, lost, unheardOf, strays, twice },
  }
}

function countCharges({ books, setbacks }: Evidence): Map<string, Paid> {
  const paid = new Map<string, Paid>()
  for (const { charges } of books.values()) {
    for (const { q, charged, at } of charges) {
      if (q === null || charged <= 0) continue
      const found = paid.get(q) ?? { charges: 0, shady: 0 }
      found.charges += 1
      if (isForgotten(at, setbacks)) found.shady += 1
      paid.set(q, found)
    }
  }
  return paid
}

function isForgotten(at: number, setbacks: readonly Setback[]): boolean {
  return setbacks.some(({ from, until }) => at >= from && at <= until)
}

/** Checks each account: its floor, and whether its ledger contains all charges. */
function judgePurses(evidence: Evidence): string[] {
  const { books, purses, setbacks } = evidence
  return [...books].flatMap(([name, book]) => {
    const { charged, charges } = book
    const { used, held } = purses.find(({ account }) => account === name) ?? { used: 0, held: 0 }
    const forgotten = total(
      charges.filter(({ at }) => isForgotten(at, setbacks)).map((charge) => charge.charged),
    )
    const problems = judgeFloor(evidence, name, book)
    const lied = total(charges.map((charge) => charge.lied))
    if (used + held + forgotten + lied < charged) {
      problems.push(
        `${charged} credits of ${name} were charged, the ledger knows of ${used} and holds ${held}, and ${forgotten} may be forgotten`,
      )
    }
    return problems
  })
}

/**
 * Checks the floor: the lowest balance, or each charge separately if credits were lost that no worker could know about.
 */
function judgeFloor(
  { floor, keyChecks, setbacks, unknownForMs }: Evidence,
  name: string,
  book: FrontBooks,
): string[] {
  const unknown = [
    ...keyChecks.filter(({ account }) => account === name),
    ...book.events
      .filter(({ what }) => what === 'other')
      .map(({ at, credits }) => ({ at, credits: -credits })),
    ...book.charges.map(({ at, charged_at, charged, lied }) => ({
      at: charged_at ?? at,
      credits: isForgotten(at, setbacks) ? charged : lied,
    })),
  ].filter(({ credits }) => credits > 0)
  const crossed = (balance: number, excused: number) =>
    `the balance of ${name} fell to ${balance}, below ${floor}: the floor was crossed${
      excused > 0 ? `, and no worker could know of ${excused} credits` : ''
    }`
  if (unknown.length === 0) return book.least < floor ? [crossed(book.least, 0)] : []
  return book.charges.flatMap(({ charged, lied, balance, at, charged_at }) => {
    if (charged <= 0 || balance >= floor) return []
    const when = charged_at ?? at
    const lately = unknown.filter((one) => one.at <= when && one.at > when - unknownForMs)
    // A call does not excuse itself.
    const own = isForgotten(at, setbacks) ? charged : lied
    const excused = total(lately.map(({ credits }) => credits)) - own
    return balance + excused < floor ? [crossed(balance, excused)] : []
  })
}

function foreignCredits({ events }: FrontBooks): number {
  return total(events.filter(({ what }) => what === 'other').map(({ credits }) => -credits))
}

/** A budget is shared by all accounts that work on its run. */
function judgeBudgets({ books, budgets, setbacks }: Evidence): string[] {
  const known = [...books.values()]
    .flatMap(({ charges }) => charges)
    .filter(({ at }) => !isForgotten(at, setbacks))
  return budgets.flatMap(({ list, budget }) => {
    const charges = known.filter(({ q }) => q?.startsWith(`${list} `) === true)
    const spent = total(charges.map(({ charged, lied }) => charged - lied))
    return spent <= budget
      ? []
      : [`${spent} credits were spent on ${list}, of a budget of ${budget}`]
  })
}

function judgeRest({ stoodMs, longestStandMs, leaks, accidents }: Evidence): string[] {
  const stood =
    stoodMs > longestStandMs
      ? [`the fleet stood for ${stoodMs} ms, and ${longestStandMs} are the most`]
      : []
  return [
    ...stood,
    ...problem(leaks.length, `places hold a key: ${leaks.slice(0, 3).join(', ')}`),
    ...accidents.map((words) => `a worker ended badly: ${words}`),
  ]
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

function problem(count: number, words: string): string[] {
  return count === 0 ? [] : [`${count} ${words}`]
}

/** Files in a folder that contain a text: logs, database files, queue files, and all others. */
export function filesHolding(folder: string, text: string): string[] {
  const forms = [text, Buffer.from(text).toString('base64').replace(/=+$/, '')]
  const wanted = forms.map((form) => Buffer.from(form))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  return files
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readIfThere(file)
      return wanted.some((form) => bytes.includes(form))
    })
}

/** Content of a file; a running database may remove some of its files at any time. */
function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}
