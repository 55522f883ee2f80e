import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { root } from '../../src/shared/root.ts'
import { climbs, owners, strays, trespasses } from './floors.ts'
import { cyclesOf, importsOf } from './imports.ts'
import { environmentReaders, nameless, shortcuts, tooLong, weakTitles } from './manners.ts'
import { deadLinks, jobsOf, placesOfOneMachine, unknownCommands } from './papers.ts'
import { readTree } from './tree.ts'

const manifest = z
  .looseObject({
    scripts: z.record(z.string(), z.string()),
    dependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')))

const lockShape = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({
      resolved: z.string().optional(),
      optionalDependencies: z.record(z.string(), z.string()).default({}),
    }),
  ),
})

const program = readTree(['src', 'jobs'], ['.ts'])
const sources = readTree(['src', 'jobs', 'test'], ['.ts'])
const papers = readTree(['.'], ['.md'])
const everything = readTree(
  ['.'],
  [
    '.ts',
    '.md',
    '.json',
    '.sql',
    '.yml',
    '.yaml',
    '.sh',
    '.csv',
    '.env.example',
    'Dockerfile',
    'run',
    '.npmrc',
  ],
)

describe('the rooms', () => {
  test('every source file stands in a room', () => {
    expect(strays(sources)).toEqual([])
  })

  test('imports go down the floors only', () => {
    // What the monitor asks of the scheduler and the worker is handed in next.
    const uncut =
      /^src\/commands\/monitor\/(metrics|news)\.ts -> src\/commands\/(nightly\/outlook|work\/tally)\.ts$/
    expect(climbs(sources).filter((climb) => !uncut.test(climb))).toEqual([])
  })

  test('each outside library is imported by its owner alone', () => {
    expect(trespasses(program)).toEqual([])
  })

  test('each library that the program needs has an owner, and each owner a library', () => {
    const runners = ['tsx']
    const needed = Object.keys(manifest.dependencies).filter((name) => !runners.includes(name))
    expect(Object.keys(owners).toSorted()).toEqual(needed.toSorted())
  })

  test('no imports run in a circle', () => {
    expect(cyclesOf(importsOf(sources))).toEqual([])
  })

  test('the environment is read in one place', () => {
    expect(environmentReaders(program)).toEqual([])
  })
})

describe('the manners', () => {
  test('nobody leaves the type system, and only configuration exports by default', () => {
    expect(shortcuts(readTree(['.'], ['.ts']))).toEqual([])
  })

  test('every file is named after its idea', () => {
    expect(nameless(sources)).toEqual([])
  })

  test('no file is longer than one sitting', () => {
    expect(tooLong(sources)).toEqual([])
  })

  test('test titles are promises, each made once per file', () => {
    expect(weakTitles(readTree(['test'], ['.test.ts']))).toEqual([])
  })
})

describe('the papers', () => {
  test('every command that they name exists', () => {
    expect(unknownCommands(papers, manifest.scripts)).toEqual([])
  })

  test('every file that they link to exists', () => {
    expect(deadLinks(papers, (path) => existsSync(join(root, path)))).toEqual([])
  })

  test('every script starts a file that is there, and every job has a script', () => {
    const jobs = [...jobsOf(manifest.scripts).values()]
    expect(jobs.filter((file) => !existsSync(join(root, file)))).toEqual([])
    expect([...readTree(['jobs'], ['.ts']).keys()].filter((file) => !jobs.includes(file))).toEqual(
      [],
    )
  })

  test('nothing in the repository belongs to one machine', () => {
    expect(placesOfOneMachine(everything)).toEqual([])
  })

  test('the lock holds the packages of every platform, and not where they were fetched from', () => {
    const { packages } = lockShape.parse(
      JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')),
    )
    const wanted = Object.values(packages).flatMap((entry) =>
      Object.keys(entry.optionalDependencies),
    )
    const held = Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, ''))
    expect(wanted.filter((name) => !held.includes(name))).toEqual([])
    expect(Object.values(packages).filter((entry) => entry.resolved !== undefined)).toEqual([])
  })

  test('the usual papers are there', () => {
    const usual = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'LICENSE']
    expect(usual.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
