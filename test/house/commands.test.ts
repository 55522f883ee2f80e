import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { commands } from '../../src/base/cli/commands.ts'
import { root } from '../../src/base/root.ts'
import { commandsPage, settingsPage, withCommands } from '../support/pages.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')

const { scripts } = z
  .looseObject({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(read('package.json')))

/** Commands for the developers of querymill, which are not in the package. */
const forDevelopers = ['bench', 'chaos', 'stand-in']

const startOf = (name: string, bounds: readonly string[] = []) =>
  ['node', ...bounds, 'run.mjs', name].join(' ')

describe('the list of commands', () => {
  test('has every job except those for developers and the program of the package, and no other', () => {
    const jobs = readdirSync(join(root, 'jobs')).map((file) => file.replace(/\.ts$/, ''))
    expect([...commands.keys(), ...forDevelopers, 'querymill'].toSorted()).toEqual(jobs.toSorted())
  })

  test('matches the scripts of package.json, with the same memory limits', () => {
    const started = Object.entries(scripts).filter(([, line]) => / run\.mjs [a-z]/.test(line))
    expect(Object.fromEntries(started)).toEqual(
      Object.fromEntries([
        ...[...commands].map(([name, { bounds }]) => [name, startOf(name, bounds)]),
        ...forDevelopers.map((name) => [name, startOf(name)]),
      ]),
    )
  })

  test('matches the table of the README; npm run generate updates it', () => {
    const readme = read('README.md')
    expect(readme).toBe(withCommands(readme))
  })

  test('matches the page of all commands; npm run generate updates it', () => {
    expect(read('docs/commands.md')).toBe(commandsPage())
  })
})

test('the page of settings matches .env.example and the defaults; npm run generate updates it', () => {
  expect(read('docs/settings.md')).toBe(settingsPage())
})
