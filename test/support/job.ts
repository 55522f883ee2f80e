// wordsOf('enqueue') → what Node runs a command with: what the setup of the tests compiled, which starts in a quarter of
// the time that the sources take; the sources where nothing was compiled (a bench).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../src/base/root.ts'

export function wordsOf(command: string): readonly string[] {
  const compiled = join(root, 'dist', 'jobs', `${command}.js`)
  if (process.env['VITEST'] !== undefined && existsSync(compiled)) return [compiled]
  return ['--import', 'tsx', join(root, 'jobs', `${command}.ts`)]
}

/** Where the setup of the tests compiled a module to: `src/base/root.ts`, or a program that `programs.json` names. */
export function compiledFrom(source: string): string {
  const folder = source.startsWith('test/') ? join('dist', '.tests') : 'dist'
  return join(root, folder, source.replace(/\.ts$/, '.js'))
}
