import { printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits } from '../src/shared/errors.ts'

await runCommand<{ readonly json?: true }>(
  {
    name: 'rebuild',
    about: 'Makes the queue again from the tables: one job for each slice with an open task.',
    examples: ['npm run rebuild', 'npm run -s rebuild -- --json'],
    define: (program) => program.option('--json', 'print the number of jobs as JSON'),
  },
  async ({ options, env, closers }) => {
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { rebuild } = await import('../src/commands/mill/rebuild.ts')
    const mill = await openMill({ config, closers, say, name: 'rebuild' })
    const jobs = await rebuild(mill)
    if (options.json === true) printJson({ jobs })
    say(`${jobs} slices with open tasks have a job in the queue`)
    return exits.done
  },
)
