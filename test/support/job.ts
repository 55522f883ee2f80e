// wordsOf('enqueue') → the Node arguments of a command: the compiled program, which starts in a quarter of the time
// that the sources take, or the sources if nothing was compiled (in a benchmark).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../src/base/root.ts'

export function wordsOf(command: string): readonly string[] {
  const compiled = join(root, 'dist', 'jobs', `${command}.js`)
  if (process.env['VITEST'] !== undefined && existsSync(compiled)) return [compiled]
  return ['--import', 'tsx', join(root, 'jobs', `${command}.ts`)]
}

/** Output path of a compiled module: `src/base/root.ts`, or a program that `programs.json` names. */
export function compiledFrom(source: string): string {
  const folder = source.startsWith('test/') ? join('dist', '.tests') : 'dist'
  return join(root, folder, source.replace(/\.ts$/, '.js'))
}
