import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { root } from '../src/root.ts'
import { climbs, owners, strays, trespasses } from './house/floors.ts'
import { cyclesOf, importsOf } from './house/imports.ts'
import { environmentReaders, nameless, shortcuts, tooLong, weakTitles } from './house/manners.ts'
import { deadLinks, jobsOf, placesOfOneMachine, unknownCommands } from './house/papers.ts'
import { readTree } from './house/tree.ts'
import manifest from '../package.json' with { type: 'json' }

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
    expect(climbs(sources)).toEqual([])
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

  test('the lock names packages and not where they were fetched from', () => {
    const lock = readTree(['.'], ['.npmrc'])
    expect(lock.get('.npmrc')).toContain('omit-lockfile-registry-resolved=true')
  })

  test('the usual papers are there', () => {
    const usual = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'LICENSE']
    expect(usual.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
