import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type { Closers } from '../../shared/closers.ts'

/** Room that may grow: memory is taken for what is written only. */
const roomy = '4g'
const spareBytes = 128 * 1_024
const mostSpareBytes = 64 * 1_024 * 1_024

/** Where the site keeps everything; it can be full. */
export interface Disk {
  /** From now on there is room for next to nothing. */
  readonly fill: () => void
  readonly free: () => void
}

/** A disk of its own for a folder where the system lets us make one; else a folder that refuses; null: neither. */
export function openDisk(
  folder: string,
  { closers, keep }: { closers: Closers; keep: boolean },
): Disk | null {
  if (process.getuid?.() !== 0) return refusing(folder)
  const options = (size: string | number) => ['-o', `size=${size},mode=0711`, 'tmpfs', folder]
  if (!mount(['-t', 'tmpfs', ...options(roomy)])) return null
  closers.add('the disk', folder, async () => {
    if (keep) cpSync(folder, `${folder}-kept`, { recursive: true })
    spawnSync('umount', ['--lazy', folder])
  })
  const resize = (size: string | number) => mount(['-o', 'remount', ...options(size)])
  const refuse = () => {
    throw new Error(`expected ${folder} to resize`)
  }
  return {
    fill: () => {
      // What is written meanwhile may have filled the room that was measured: no disk is made smaller than what is on it.
      for (let spare = spareBytes; spare <= mostSpareBytes; spare *= 2) {
        const { blocks, bfree, bsize } = statfsSync(folder)
        if (resize((blocks - bfree) * bsize + spare)) return
      }
      refuse()
    },
    free: () => {
      if (!resize(roomy)) refuse()
    },
  }
}

/** Without the rights to make a disk: the folder where paid answers are kept takes nothing. Root would not be stopped. */
function refusing(folder: string): Disk | null {
  if (process.platform === 'win32') return null
  const spool = join(folder, 'spool')
  mkdirSync(spool, { recursive: true, mode: 0o700 })
  return { fill: () => chmodSync(spool, 0o500), free: () => chmodSync(spool, 0o700) }
}

function mount(args: readonly string[]): boolean {
  return process.platform === 'linux' && spawnSync('mount', args).status === 0
}
