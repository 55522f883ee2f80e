import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseAst } from 'vitest/node'
import { root } from '../../src/base/root.ts'

/** Paths from the project's root, with forward slashes, and the contents of the files. */
export type Tree = ReadonlyMap<string, string>

/** A node of a syntax tree as returned by the parser; every access is checked. */
export type Node = Readonly<Record<string, unknown>> & { readonly type: string }

const skipped = new Set([
  'node_modules',
  'dist',
  '.git',
  'coverage',
  '.querymill',
  'package-lock.json',
])

/** All files of the project with one of these extensions. */
export function readTree(folders: readonly string[], endings: readonly string[]): Tree {
  const tree = new Map<string, string>()
  for (const folder of folders) {
    for (const file of filesOf(join(root, folder))) {
      if (!endings.some((ending) => file.endsWith(ending))) continue
      tree.set(relative(root, file).replaceAll('\\', '/'), readFileSync(file, 'utf8'))
    }
  }
  return tree
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !skipped.has(entry.name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesOf(path) : [path]
    })
}

const parsed = new Map<string, readonly Node[]>()

/** Every node of a source file, outermost first. */
export function nodesOf(path: string, text: string): readonly Node[] {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const nodes: Node[] = []
  collect(parseAst(text, { lang: 'ts', astType: 'ts' }, path), nodes)
  parsed.set(text, nodes)
  return nodes
}

function collect(value: unknown, into: Node[]): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, into)
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (isNode(value)) into.push(value)
  for (const inner of Object.values(value)) collect(inner, into)
}

/** True for a node of the parser. */
export function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
  )
}

/** The text of a string literal, or of a template without placeholders; null for anything else. */
export function literal(value: unknown): string | null {
  if (!isNode(value)) return null
  if (value.type === 'Literal') return typeof value['value'] === 'string' ? value['value'] : null
  if (value.type !== 'TemplateLiteral') return null
  const quasis: unknown = value['quasis']
  return Array.isArray(quasis) && quasis.length === 1
    ? (quasis[0] as { value: { cooked: string } }).value.cooked
    : null
}
