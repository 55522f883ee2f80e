import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits } from '../src/shared/errors.ts'

await runCommand<{ readonly json?: true }>(
  {
    name: 'resume',
    about:
      'Lifts a stop: one call may go out to see the balance, and a refused key is tried again.',
    examples: ['npm run resume', 'npm run resume && npm run work -- --drain'],
    define: (program) => program.option('--json', 'print what was lifted as JSON'),
  },
  async ({ options, env, closers }) => {
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { openAccount } = await import('../src/store/ledger/books.ts')
    const { liftStops } = await import('../src/store/operator/change.ts')
    const mill = await openMill({ config, closers, say, name: 'resume' })
    const { account: name, origin: kind } = mill.supplier
    const account = await openAccount(mill.db, { name, kind })
    const lifted = (await liftStops(mill.db, account)).map(({ reason }) => reason)
    if (options.json === true) printJson({ account: name, lifted })
    const what = lifted.length === 0 ? 'no stop stood' : `lifted: ${lifted.join(', ')}`
    say(`account ${name}: ${what}; one call may now go out to see the balance`)
    say('workers that wait go on by themselves; otherwise type: npm run work -- --drain')
    return exits.done
  },
)
