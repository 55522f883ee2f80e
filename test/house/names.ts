import { isNode, nodesOf, type Node, type Tree } from './tree.ts'

/** Names that may be exported by more than one file, each with the reason. */
const sameNames: Readonly<Record<string, string>> = {}

/** Names that two files or more export, as `name: files`; the generated types name what the tables name. */
export function repeatedNames(
  tree: Tree,
  known: Readonly<Record<string, string>> = sameNames,
): string[] {
  const files = new Map<string, Set<string>>()
  for (const [path, text] of tree) {
    if (path === 'src/store/schema.ts' || path.startsWith('test/')) continue
    for (const name of nodesOf(path, text).flatMap(exportedNames)) {
      files.set(name, (files.get(name) ?? new Set()).add(path))
    }
  }
  const repeated = [...files].filter(([, paths]) => paths.size > 1)
  const idle = Object.keys(known).filter((name) => !repeated.some(([found]) => found === name))
  return [
    ...repeated
      .filter(([name]) => known[name] === undefined)
      .map(([name, paths]) => `${name}: ${[...paths].join(', ')}`),
    ...idle.map((name) => `${name}: exported once, and need not be excused`),
  ].toSorted()
}

/** What a declaration exports by name; a name that is only passed on is declared elsewhere. */
function exportedNames(node: Node): string[] {
  const declaration = node['declaration']
  if (node.type !== 'ExportNamedDeclaration' || !isNode(declaration)) return []
  const several = declaration['declarations']
  const declared: unknown[] = Array.isArray(several) ? several : [declaration]
  return declared.flatMap((each) => {
    const id = isNode(each) ? each['id'] : null
    return isNode(id) && typeof id['name'] === 'string' ? [id['name']] : []
  })
}
