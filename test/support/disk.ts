// const disk = smallDisk(4) → a disk of four megabytes, or null if this user may not mount one; `disk.fill()` uses up
// all space.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { codeOf } from '../../src/base/errors.ts'

export interface SmallDisk {
  readonly folder: string
  /** Uses up all remaining space. */
  readonly fill: () => void
}

/** True if this user may mount a disk. */
export function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-disk-'))
  const mounted = mount(folder, 1)
  if (mounted) spawnSync('umount', [folder])
  rmSync(folder, { recursive: true })
  return mounted
}

/** A disk of this many megabytes, mounted until the test is over. */
export function smallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-disk-'))
  if (!mount(folder, megabytes)) throw new Error('expected to mount a disk; ask mayMount first')
  onTestFinished(() => {
    spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true })
  })
  return { folder, fill: () => fill(join(folder, 'filler')) }
}

function mount(folder: string, megabytes: number): boolean {
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]
  return spawnSync('mount', options).status === 0
}

function fill(file: string): void {
  const handle = openSync(file, 'w')
  try {
    for (const size of [65_536, 4_096, 1]) writeUntilFull(handle, Buffer.alloc(size, 'x'))
  } finally {
    closeSync(handle)
  }
}

function writeUntilFull(handle: number, piece: Buffer): void {
  try {
    for (;;) writeSync(handle, piece)
  } catch (error) {
    if (codeOf(error) !== 'ENOSPC') throw error
  }
}
