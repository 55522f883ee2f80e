import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { refuseFlagsAsValues, refuseSwallowed } from '../../../src/base/cli/command.ts'

function program(): Command {
  return new Command('enqueue')
    .exitOverride()
    .argument('<file...>')
    .option('--as <name>')
    .option('--place <place...>')
    .option('--country <codes>')
    .option('--dry-run')
    .option('--yes')
}

describe('a flag whose value was forgotten', () => {
  test.each([
    [['a.csv', '--as', '--dry-run'], '--as, got --dry-run', '--as=--dry-run'],
    [['--country', '--place', 'x', 'a.csv'], '--country, got --place', '--country=--place'],
    [['a.csv', '--place', 'Rome', '--place', '--yes'], '--place, got --yes', '--place=--yes'],
    [['a.csv', '--as', '--country=us'], '--as, got --country=us', '--as=--country=us'],
  ])('does not use the next flag as its value: %j', (args, found, meant) => {
    expect(() => refuseFlagsAsValues(program(), args)).toThrow(
      `expected a value for ${found}, which is another flag; type ${meant} to use it as the value`,
    )
  })

  test.each([
    [['a.csv', '--as=--dry-run', '--dry-run']],
    [['a.csv', '--dry-run', '--yes']],
    [['a.csv', '--as', '-']],
    [['a.csv', '--as', '--nobody']],
    [['a.csv', '--as']],
  ])('is not reported for: %j', (args) => {
    expect(() => refuseFlagsAsValues(program(), args)).not.toThrow()
  })
})

describe('flags that npm did not pass on', () => {
  /** Environment and arguments that npm leaves for `npm run enqueue FLAGS FILE`. */
  function refusal(kept: Record<string, string>, args: readonly string[]): () => void {
    const parsed = program().parse([...args], { from: 'user' })
    const names = Object.entries(kept).map(([name, value]) => [`npm_config_${name}`, value])
    const env = { npm_lifecycle_event: 'enqueue', ...Object.fromEntries(names) }
    return () => refuseSwallowed(parsed, 'enqueue', env)
  }

  test('are refused with the correct command, because a dry run would buy', () => {
    expect(refusal({ dry_run: 'true' }, ['a.csv'])).toThrow(
      'got --dry-run before "--", which npm does not pass on; run: npm run enqueue -- a.csv --dry-run',
    )
  })

  test('get their values back, quoted as a shell needs them', () => {
    expect(refusal({ place: 'Austin, Texas' }, ['a.csv'])).toThrow(
      `run: npm run enqueue -- a.csv --place 'Austin, Texas'`,
    )
    // npm leaves the value of a flag that it does not know among the arguments.
    expect(refusal({ country: 'true' }, ['us', 'a.csv'])).toThrow(
      'run: npm run enqueue -- a.csv --country us',
    )
  })

  test('are reported together, except those typed again in the right place', () => {
    expect(refusal({ country: 'us', yes: 'true' }, ['a.csv'])).toThrow(
      'got --country --yes before "--"',
    )
    expect(refusal({ country: 'us' }, ['a.csv', '--country', 'de'])).not.toThrow()
    expect(refusal({}, ['a.csv'])).not.toThrow()
  })
})
