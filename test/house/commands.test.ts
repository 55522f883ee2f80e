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
  test('has every job but those for developers and the program of the package, and no other', () => {
    const jobs = readdirSync(join(root, 'jobs')).map((file) => file.replace(/\.ts$/, ''))
    expect([...commands.keys(), ...forDevelopers, 'querymill'].toSorted()).toEqual(jobs.toSorted())
  })

  test('is what the scripts of package.json start, with the same bounds for memory', () => {
    const started = Object.entries(scripts).filter(([, line]) => / run\.mjs [a-z]/.test(line))
    expect(Object.fromEntries(started)).toEqual(
      Object.fromEntries([
        ...[...commands].map(([name, { bounds }]) => [name, startOf(name, bounds)]),
        ...forDevelopers.map((name) => [name, startOf(name)]),
      ]),
    )
  })

  test('is the table of the README; npm run generate brings it up to date', () => {
    const readme = read('README.md')
    expect(readme).toBe(withCommands(readme))
  })

  test('is the page of all commands; npm run generate brings it up to date', () => {
    expect(read('docs/commands.md')).toBe(commandsPage())
  })
})

test('the page of settings is made of .env.example and the defaults; npm run generate brings it up to date', () => {
  expect(read('docs/settings.md')).toBe(settingsPage())
})
