import { readConfig } from '../../shared/config.ts'
import { exits, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import type { Database } from '../../store/database.ts'
import { countFinishedDays } from '../../store/operator/finished.ts'
import { countAnswers } from '../../store/operator/proofs.ts'
import {
  askPromises,
  checkOf,
  conserveCredits,
  onSnapshot,
  type Check,
  type Conservation,
} from '../../store/operator/verify.ts'
import { openMill } from '../mill/mill.ts'
import { rebuildAnswers } from './bodies.ts'

export interface VerifyOptions {
  readonly deep?: true
  readonly json?: true
}

/** What was asked, what came of it, and what nobody can tell from these tables. */
export interface Verified {
  readonly checks: readonly Check[]
  readonly unproved: readonly string[]
}

const sampleSize = 500
/** To add a day up again takes as long as to keep it. */
const sampleDays = 7

/** Asks the tables for every row that breaks a promise: one line a promise, and the credits of each account. */
export async function verify({ options, env, closers }: Call<VerifyOptions>): Promise<Exit> {
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'verify', reading: true })
  const asked = { zone: config.zone, deep: options.deep === true }
  const { checks, unproved } = await onSnapshot(mill.db, (snapshot) => prove(snapshot, asked))
  const credits = await conserveCredits(mill.db)
  const ok = checks.every((check) => check.ok)
  if (options.json === true) printJson({ ok, checks, credits, unproved })
  else {
    for (const { name, violations } of checks) {
      print(violations === 0 ? `ok      ${name}` : `BROKEN  ${name}: ${violations} violations`)
    }
    for (const account of credits) print(creditsLine(account))
    for (const line of unproved) print(`not proved: ${line}`)
  }
  say(ok ? 'every promise holds' : 'a promise is broken')
  return ok ? exits.done : exits.failures
}

/** Asks every question, and reads bodies again: some of them, drawn anew each time, or all. */
export async function prove(
  db: Database,
  { zone, deep }: { readonly zone: string; readonly deep: boolean },
): Promise<Verified> {
  const promises = await askPromises(db, { zone, days: deep ? null : sampleDays })
  const { answers: rebuilt, violations } = await rebuildAnswers(db, deep ? null : sampleSize)
  const { answers, bodiless, archived } = await countAnswers(db)
  const unread = answers - bodiless - archived - rebuilt
  const unadded = deep ? 0 : Math.max(0, (await countFinishedDays(db)) - sampleDays)
  return {
    checks: [...promises, checkOf('each answer says what its body says', violations)],
    unproved: [
      ...(bodiless > 0
        ? [`what ${bodiless} answers say whose bodies were pruned or forgotten`]
        : []),
      ...(archived > 0
        ? [`what ${archived} answers in the archive say; npm run archive -- --check reads them`]
        : []),
      ...(unread > 0 ? [`what ${unread} answers say that were not drawn; type --deep`] : []),
      ...(unadded > 0
        ? [`what ${unadded} finished days come to that were not drawn; type --deep`]
        : []),
      ...beyondProof,
    ],
  }
}

function creditsLine(account: Conservation): string {
  const { opening, used, unknown, unexplained, added, closing } = account
  return `credits of ${account.account}: ${opening} at first, ${used} used, ${unknown} perhaps by calls nobody could read, ${unexplained} by others, ${added} added, ${closing} left`
}

// Said every time, so that a clean result is not taken for more than it is.
const beyondProof = [
  'that the API charged what its answers say; its own books would show it',
  'a body that was changed together with its rows, its call and the sums',
  'which lines of a file were duplicates, where one line gave several queries',
  'answers and calls that were removed with everything that names them',
]
