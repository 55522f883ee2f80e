import { posix } from 'node:path'
import { literal, nodesOf, type Tree } from './tree.ts'

/** An import of another file or of a library. */
export interface Import {
  readonly from: string
  /** A path from the project's root, or the name of a library. */
  readonly to: string
  readonly outside: boolean
}

const importing = new Set([
  'ImportDeclaration',
  'ImportExpression',
  'ExportAllDeclaration',
  'ExportNamedDeclaration',
  'TSImportType',
])

/** All imports of a tree, including types and lazy ones, without Node's own modules. */
export function importsOf(tree: Tree): readonly Import[] {
  const found: Import[] = []
  for (const [from, text] of tree) {
    for (const node of nodesOf(from, text)) {
      if (!importing.has(node.type)) continue
      const name = literal(node['source'])
      if (name === null || name.startsWith('node:')) continue
      found.push(resolve(from, name))
    }
  }
  return found
}

function resolve(from: string, name: string): Import {
  if (name.startsWith('.')) {
    return { from, to: posix.join(posix.dirname(from), name), outside: false }
  }
  const parts = name.split('/')
  const library = name.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? name)
  return { from, to: library, outside: true }
}

/** Import cycles, each once, starting with its alphabetically first file. */
export function cyclesOf(imports: readonly Import[]): string[] {
  const edges = new Map<string, string[]>()
  for (const { from, to, outside } of imports) {
    if (!outside) edges.set(from, [...(edges.get(from) ?? []), to])
  }
  const cycles = new Set<string>()
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) cycles.add(turned(path.slice(at)))
    if (at >= 0 || done.has(file)) return
    for (const next of edges.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return [...cycles]
}

function turned(cycle: readonly string[]): string {
  const first = cycle.indexOf([...cycle].toSorted()[0] ?? '')
  const order = [...cycle.slice(first), ...cycle.slice(0, first)]
  return [...order, order[0]].join(' -> ')
}
