import { posix } from 'node:path'
import type { Tree } from './tree.ts'

/** Folders of tests without a corresponding folder in src/. */
const otherSubjects: Readonly<Record<string, string>> = {
  'test/faults': 'what misbehaves on purpose',
  'test/faults/api': 'stand-ins for the search API',
  'test/house': 'the repository itself',
  'test/mutants': 'faults put into the program on purpose',
  'test/whole': 'the mill as a whole',
}

/** Folders of src/ whose tests are in another place, and that place. */
const testedElsewhere: Readonly<Record<string, string>> = {
  'src/core': 'test/whole/mill.test.ts',
}

/** Tests in a folder that mirrors no folder of src/. */
export function misplacedTests(tree: Tree): string[] {
  const folders = foldersOf(tree, 'src/')
  return [...tree.keys()].filter((path) => {
    const folder = posix.dirname(path)
    if (!path.endsWith('.test.ts') || Object.hasOwn(otherSubjects, folder)) return false
    return !folders.has(folder.replace(/^test/, 'src'))
  })
}

/** Folders of src/ without a test in the corresponding folder of test/, or in the listed place. */
export function untestedFolders(
  tree: Tree,
  elsewhere: Readonly<Record<string, string>> = testedElsewhere,
): string[] {
  const tested = foldersOf(tree, 'test/', '.test.ts')
  return [...foldersOf(tree, 'src/')].filter((folder) => {
    const named = elsewhere[folder]
    const mirrored = tested.has(folder.replace(/^src/, 'test'))
    return named === undefined ? !mirrored : mirrored || !tree.has(named)
  })
}

function foldersOf(tree: Tree, top: string, ending = '.ts'): ReadonlySet<string> {
  const files = [...tree.keys()].filter((path) => path.startsWith(top) && path.endsWith(ending))
  return new Set(files.map((path) => posix.dirname(path)).filter((folder) => folder.includes('/')))
}
