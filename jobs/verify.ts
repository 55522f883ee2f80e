import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits } from '../src/shared/errors.ts'

await runCommand<{ readonly json?: true }>(
  {
    name: 'verify',
    about:
      'Proves on the live data what the mill promises: one line a promise, exit 1 when one is broken.',
    examples: ['npm run verify', 'npm run -s verify -- --json'],
    define: (program) => program.option('--json', 'print the checks as one JSON object'),
  },
  async ({ options, env, closers }) => {
    const config = readConfig(env)
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { conserveCredits, verifyPromises } = await import('../src/store/operator/verify.ts')
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
  },
)
