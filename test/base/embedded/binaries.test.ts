// @module-tag slow
import { chmodSync, cpSync, existsSync, lstatSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { findBinaries, prepareBinaries } from '../../../src/base/embedded/postgres.ts'
import { runAs, serverUser } from '../../../src/base/embedded/process.ts'
import { temporaryFolder } from '../../support/place.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) {
    chmodSync(folder, 0o755)
    const closed = join(folder, 'native', 'lib')
    if (existsSync(closed)) chmodSync(closed, 0o755)
    rmSync(folder, { recursive: true, force: true })
  }
})

/** The package as left by an installer that runs no scripts: without any links. */
function bareCopy() {
  const found = findBinaries()
  const folder = temporaryFolder('binaries')
  folders.push(folder)
  cpSync(found.folder, folder, {
    recursive: true,
    filter: (path) => !path.endsWith('.a') && !lstatSync(path).isSymbolicLink(),
  })
  chmodSync(folder, 0o755)
  return { ...found, folder }
}

function spare(): string {
  const folder = temporaryFolder('spare')
  folders.push(folder)
  return folder
}

describe('the programs of the embedded PostgreSQL', () => {
  test('library links that an installer left out are created', async () => {
    const bare = bareCopy()
    const user = serverUser(null)
    expect(await prepareBinaries(bare, user, spare())).toEqual(bare)
    const ended = await runAs(user, join(bare.folder, 'native', 'bin', 'postgres'), ['--version'])
    expect(ended).toMatchObject({ code: 0, output: expect.stringContaining('PostgreSQL') })
  })

  test('programs that the server cannot reach or complete are copied to a place where it can', async () => {
    const bare = bareCopy()
    const user = serverUser(null)
    // Root can write everywhere, but its server can't enter a folder that only root may enter. Other users can't write
    // here.
    if (user === null) chmodSync(join(bare.folder, 'native', 'lib'), 0o555)
    else chmodSync(bare.folder, 0o700)
    const place = spare()
    const copy = await prepareBinaries(bare, user, place)
    expect(copy.folder).toBe(join(place, `binaries-${bare.version}`))
    const ended = await runAs(user, join(copy.folder, 'native', 'bin', 'postgres'), ['--version'])
    expect(ended.code).toBe(0)
    expect(await prepareBinaries(bare, user, place)).toEqual(copy)
  })

  test('a machine that cannot run the programs gets the advice to set DATABASE_URL', async () => {
    expect(() => findBinaries('win32', 'x64')).toThrow(/Linux or macOS.*set DATABASE_URL/)
    expect(() => findBinaries('linux', 'riscv64')).toThrow(/Linux or macOS.*set DATABASE_URL/)
    const bare = bareCopy()
    rmSync(join(bare.folder, 'native', 'bin', 'postgres'))
    const failed = prepareBinaries(bare, serverUser(null), spare())
    await expect(failed).rejects.toThrow(/requires Linux with glibc, or macOS; /)
  })

  test('an installation without optional packages is told which one is missing', () => {
    const other = process.platform === 'darwin' ? 'linux' : 'darwin'
    expect(() => findBinaries(other, process.arch)).toThrow(/without --omit=optional.*DATABASE_URL/)
  })
})
