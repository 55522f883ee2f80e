import { isNode, literal, nodesOf, type Node, type Tree } from './tree.ts'

const junkDrawers = /^(utils?|helpers?|common|lib|misc|managers?|index)$/i

/** File and folder names that say nothing about the content. */
export function nameless(tree: Tree): string[] {
  return [...tree.keys()].filter((path) =>
    path.split('/').some((part) => junkDrawers.test(part.replace(/\.[a-z.]+$/, ''))),
  )
}

const banned: Readonly<Record<string, string>> = {
  TSAnyKeyword: 'any',
  TSNonNullExpression: 'non-null !',
  TSEnumDeclaration: 'enum',
  TSParameterProperty: 'parameter property',
}

/** Escapes from the type system, enums, and default exports outside of configuration files. */
export function shortcuts(tree: Tree): string[] {
  const found: string[] = []
  for (const [path, text] of tree) {
    if (/@ts-(ignore|nocheck|expect-error)/.test(text)) found.push(`${path}: @ts comment`)
    for (const node of nodesOf(path, text)) {
      const name = banned[node.type]
      if (name !== undefined) found.push(`${path}: ${name}`)
      // `declare module 'name'` extends the types of a library; it is not a namespace.
      if (node.type === 'TSModuleDeclaration' && literal(node['id']) === null) {
        found.push(`${path}: namespace`)
      }
      if (node.type === 'ExportDefaultDeclaration' && !path.endsWith('.config.ts')) {
        found.push(`${path}: default export`)
      }
    }
  }
  return found
}

/** Files that read the environment, other than the one that parses the settings. */
export function environmentReaders(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => path !== 'src/base/config.ts' && !path.startsWith('test/'))
    .filter(([path, text]) => nodesOf(path, text).some(readsEnvironment))
    .map(([path]) => path)
}

function readsEnvironment(node: Node): boolean {
  if (node.type !== 'MemberExpression') return false
  const { object, property } = node
  if (!isNode(object) || object['name'] !== 'process' || !isNode(property)) return false
  return property['name'] === 'env' || literal(property) === 'env'
}

/** Titles of a test file that state no expected behaviour, or that occur twice. */
export function weakTitles(tree: Tree): string[] {
  const found: string[] = []
  for (const [path, text] of tree) {
    const seen = new Set<string>()
    for (const title of nodesOf(path, text).flatMap(titleOf)) {
      if (/\b(should|works|correctly|properly)\b/i.test(title)) found.push(`${path}: "${title}"`)
      if (seen.has(title)) found.push(`${path}: twice "${title}"`)
      seen.add(title)
    }
  }
  return found
}

function titleOf(node: Node): string[] {
  if (node.type !== 'CallExpression' || !['test', 'it'].includes(calledName(node))) return []
  const first: unknown = Array.isArray(node['arguments']) ? node['arguments'][0] : undefined
  const title = literal(first)
  // `test.skipIf(reason)` and `test.each(rows)` are first called without a title.
  return title === null ? [] : [title]
}

/** The first name of `test`, `test.each(rows)`, `test.skipIf(reason)` and the like. */
function calledName(node: Node): string {
  let at: unknown = node
  while (isNode(at)) {
    if (at.type === 'Identifier') return String(at['name'])
    at = at.type === 'CallExpression' ? at['callee'] : at['object']
  }
  return ''
}
