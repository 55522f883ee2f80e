import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isMissing } from './files.ts'
import { pause } from '../shared/waiting.ts'

/** The words that a live process was started with; null when it is gone or a zombie. */
export function commandOf(pid: number): readonly string[] | null {
  if (process.platform !== 'linux') {
    const line = spawnSync('/bin/ps', ['-ww', '-o', 'command=', '-p', String(pid)]).stdout
    const text = line.toString().trim()
    // One text: blanks in a path cannot be told from those between words.
    return text === '' || text.includes('<defunct>') ? null : [text]
  }
  try {
    // A zombie has no command line any more.
    const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return text === '' ? null : text.split('\0')
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ESRCH') return null
    throw error
  }
}

/** Asks a process to end, and ends it when it does not. `isOurs` guards against a number that changed hands. */
export async function endProcess(
  pid: number,
  isOurs: () => boolean,
  patienceMs: number,
): Promise<void> {
  const signals = [
    ['SIGTERM', patienceMs],
    ['SIGKILL', 5_000],
  ] as const
  for (const [signal, wait] of signals) {
    if (!isOurs()) return
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return
      throw error
    }
    for (const deadline = Date.now() + wait; isOurs() && Date.now() < deadline;) await pause(20)
  }
}
