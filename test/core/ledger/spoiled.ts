import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../../src/base/root.ts'
import { sourceOf, type Mutant } from './mutants.ts'
import type { Core } from './world.ts'

const files = ['account', 'admission', 'prices', 'settle', 'settle-model'] as const
const copied: ReadonlySet<string> = new Set(files.map((file) => join(root, sourceOf(file))))

/** The core of the ledger with this fault in its source. */
export async function spoil(mutant: Mutant): Promise<Core> {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-mutant-'))
  try {
    for (const file of files) {
      const path = join(root, sourceOf(file))
      const source = readFileSync(path, 'utf8')
      const faulty = file === mutant.file ? replace(source, mutant) : source
      writeFileSync(join(folder, `${file}.ts`), fromElsewhere(faulty, dirname(path)))
    }
    const load = (file: (typeof files)[number]) =>
      import(pathToFileURL(join(folder, `${file}.ts`)).href)
    const { admit } = await load('admission')
    const { settle } = await load('settle-model')
    return { admit, settle }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A copy imports the other copies beside it, and everything else by absolute path. */
function fromElsewhere(source: string, folder: string): string {
  return source.replaceAll(/from '(\.[^']*)'/g, (_, name: string) => {
    const path = resolve(folder, name)
    return `from '${copied.has(path) ? `./${basename(path)}` : pathToFileURL(path).href}'`
  })
}

function replace(source: string, { name, find, put }: Mutant): string {
  const times = source.split(find).length - 1
  if (times !== 1) throw new Error(`expected the place of "${name}" once, got it ${times} times`)
  return source.replace(find, () => put)
}
