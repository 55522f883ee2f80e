import { readConfig } from '../shared/config.ts'
import { exits, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { openAccount } from '../store/ledger/books.ts'
import { forgetPrices, liftStops } from '../store/operator/change.ts'
import { openMill } from './mill/mill.ts'

/** What can be typed after `npm run resume --`. */
export interface ResumeFlags {
  readonly json?: true
  readonly forgetPrices?: true
}

/** Lifts the stops of the account in use, and says which stood. */
export async function runResume({ options, env, closers }: Call<ResumeFlags>): Promise<Exit> {
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'resume' })
  const { account: name, origin: kind } = mill.supplier
  const account = await openAccount(mill.db, { name, kind })
  if (options.forgetPrices === true) {
    await forgetPrices(mill.db, account)
    say('what calls have cost is forgotten: the next one goes out alone and shows the price')
  }
  const lifted = (await liftStops(mill.db, account)).map(({ reason }) => reason)
  if (options.json === true) printJson({ account: name, lifted })
  const what = lifted.length === 0 ? 'no stop stood' : `lifted: ${lifted.join(', ')}`
  say(`account ${name}: ${what}; one call may now go out to see the balance`)
  say('workers that wait go on by themselves; otherwise type: npm run work -- --drain')
  return exits.done
}
