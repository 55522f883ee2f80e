import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../src/shared/root.ts'
import type { Mutant } from './mutants.ts'
import type { Core } from './world.ts'

const files = [
  ...(['account', 'admission', 'change', 'limits', 'periods', 'prices', 'purses'] as const),
  ...(['admit', 'settle'] as const),
]

/** The ledger's core as it would be with this fault in its source. */
export async function spoil(mutant: Mutant): Promise<Core> {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-mutant-'))
  try {
    mkdirSync(join(folder, 'shared'))
    mkdirSync(join(folder, 'credits'))
    copyFileSync(join(root, 'src/shared/errors.ts'), join(folder, 'shared/errors.ts'))
    for (const file of files) {
      // A copy elsewhere finds what lies outside of its room by the whole path.
      const source = readFileSync(join(root, 'src/credits', `${file}.ts`), 'utf8').replaceAll(
        "from '../",
        `from '${pathToFileURL(join(root, 'src')).href}/`,
      )
      writeFileSync(
        join(folder, 'credits', `${file}.ts`),
        file === mutant.file ? replace(source, mutant) : source,
      )
    }
    const load = (file: string) => import(pathToFileURL(join(folder, 'credits', `${file}.ts`)).href)
    const { newAccount } = await load('account')
    const { admit } = await load('admit')
    const { settle } = await load('settle')
    return { newAccount, admit, settle }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function replace(source: string, { name, find, put }: Mutant): string {
  const times = source.split(find).length - 1
  if (times !== 1) throw new Error(`expected the place of "${name}" once, got it ${times} times`)
  return source.replace(find, () => put)
}
