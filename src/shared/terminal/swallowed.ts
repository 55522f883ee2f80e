import type { Command } from 'commander'
import type { Environment } from '../config.ts'
import { Misuse } from '../errors.ts'
import { typed } from './wording.ts'

/** npm keeps flags that stand before `--` for itself: a dry run would spend money. Refused, with what to type. */
export function refuseSwallowed(program: Command, name: string, env: Environment): void {
  if (env['npm_lifecycle_event'] !== name) return
  const swallowed = program.options.filter((option) => {
    const found = env[`npm_config_${option.name().replaceAll('-', '_')}`]
    return (
      found !== undefined &&
      found !== '' &&
      program.getOptionValueSource(option.attributeName()) !== 'cli'
    )
  })
  if (swallowed.length === 0) return
  const names = swallowed.map((option) => `--${option.name()}`).join(' ')
  const values = swallowed.map((option) => env[`npm_config_${option.name().replaceAll('-', '_')}`])
  // npm leaves the value of a flag that it does not know among the arguments, or beside its name.
  const args = program.args.filter((arg) => !values.includes(arg))
  const flags = swallowed.flatMap((option, index) => {
    const value = values[index] ?? ''
    const own =
      option.required && value !== 'true' ? value : program.args.find((arg) => !/[./*-]/.test(arg))
    return option.required ? [`--${option.name()}`, own ?? 'VALUE'] : [`--${option.name()}`]
  })
  const used = args.filter((arg) => !flags.includes(arg))
  throw new Misuse(
    `expected flags after "--", got ${names} before it, where npm keeps it for itself; type: npm run ${name} -- ${[...used, ...flags].map(typed).join(' ')}`,
  )
}

/** A flag whose value was forgotten takes the next flag for it: `--as --dry-run` would buy. Refused, with what to type. */
export function refuseFlagsAsValues(program: Command, args: readonly string[]): void {
  const known = new Map(program.options.map((option) => [option.long, option]))
  for (const [index, word] of args.entries()) {
    const next = args[index + 1] ?? ''
    const isFlag = known.has(next.replace(/=.*$/s, ''))
    if (known.get(word)?.required !== true || !isFlag) continue
    throw new Misuse(
      `expected a value for ${word}, got ${next}, which is a flag of its own; type ${typed(`${word}=${next}`)} if it is meant`,
    )
  }
}
