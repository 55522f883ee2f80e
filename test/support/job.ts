// wordsOf('enqueue') → what Node runs a command with: its sources; with TEST_COMPILED=1 what `npm run build` made of them,
// which starts in half the time.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { processEnvironment } from '../../src/shared/config.ts'
import { root } from '../../src/shared/root.ts'

export function wordsOf(command: string): readonly string[] {
  const compiled = join(root, 'dist', 'jobs', `${command}.js`)
  if (processEnvironment()['TEST_COMPILED'] === '1' && existsSync(compiled)) return [compiled]
  return ['--import', 'tsx', join(root, 'jobs', `${command}.ts`)]
}
