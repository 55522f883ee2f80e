import { readConfig } from '../shared/config.ts'
import { exits, type Exit } from '../shared/errors.ts'
import { print, printJson, say, type Call } from '../shared/terminal/command.ts'
import { conserveCredits, verifyPromises } from '../store/operator/verify.ts'
import { openMill } from './mill/mill.ts'

export interface VerifyOptions {
  readonly json?: true
}

/** Asks the tables for every row that breaks a promise: one line a promise, and the credits of each account. */
export async function verify({ options, env, closers }: Call<VerifyOptions>): Promise<Exit> {
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'verify' })
  const checks = await verifyPromises(mill.db)
  const credits = await conserveCredits(mill.db)
  const ok = checks.every((check) => check.ok)
  if (options.json === true) printJson({ ok, checks, credits })
  else {
    for (const { name, violations } of checks) {
      print(violations === 0 ? `ok      ${name}` : `BROKEN  ${name}: ${violations} violations`)
    }
    for (const { account, drop, used, unknown, unexplained } of credits) {
      print(
        `credits of ${account}: the balance fell by ${drop}; ${used} used, ${unknown} perhaps by calls nobody could read, ${unexplained} unexplained`,
      )
    }
  }
  say(ok ? 'every promise holds' : 'a promise is broken')
  return ok ? exits.done : exits.failures
}
