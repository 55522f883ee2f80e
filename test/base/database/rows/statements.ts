import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as ast from 'typescript/unstable/ast'
import { nameParameters } from '../../../../src/base/database/sql-file.ts'
import { root } from '../../../../src/base/root.ts'
import type { Compiler } from './compiler.ts'
import { membersOf, type Member } from './members.ts'
import { textsOf, type Texts } from './texts.ts'

/** A raw statement with a declared row type. */
export interface RowStatement extends Texts {
  readonly place: string
  readonly members: readonly Member[]
}

/**
 * Statements of a file that return rows: `sql<Row>`, `statement<Row>(name)`, `readRows<Row>(db, name)` and
 * `client.query<Row>(text)`.
 */
export function statementsOf(compiler: Compiler, path: string): readonly RowStatement[] {
  const source = compiler.source(path)
  const found: RowStatement[] = []
  const visit = (node: ast.Node): void => {
    const asked = tagged(compiler, node) ?? called(compiler, node)
    if (asked !== null) {
      const line = source.text.slice(0, node.getStart(source)).split('\n').length
      found.push({ place: `${path}:${line}`, ...asked })
    }
    node.forEachChild(visit)
  }
  visit(source)
  return found
}

type Asked = Omit<RowStatement, 'place'> | null

/** By its type and not by its text, because a function may declare the row type of its statement. */
function tagged(compiler: Compiler, node: ast.Node): Asked {
  if (!ast.isTaggedTemplateExpression(node) || node.tag.getText() !== 'sql') return null
  const { checker } = compiler
  const type = checker.getTypeAtLocation(node)
  const [row] = type?.isTypeReference() === true ? checker.getTypeArguments(type) : []
  const members = row === undefined ? null : membersOf(checker, row)
  return members === null ? null : { members, ...textsOf(compiler, node) }
}

function called(compiler: Compiler, node: ast.Node): Asked {
  if (!ast.isCallExpression(node)) return null
  const [written] = node.typeArguments ?? []
  if (written === undefined) return null
  const row = compiler.checker.getTypeFromTypeNode(written)
  const members = row === undefined ? null : membersOf(compiler.checker, row)
  if (members === null) return null
  const name = ast.isPropertyAccessExpression(node.expression)
    ? node.expression.name.text
    : node.expression.getText()
  const text = node.arguments[name === 'readRows' ? 1 : 0]
  if (text === undefined) return null
  if (name === 'query') return { members, ...textsOf(compiler, text) }
  if ((name !== 'statement' && name !== 'readRows') || !ast.isStringLiteral(text)) return null
  const file = join(root, 'sql', 'statements', `${text.text}.sql`)
  return { members, texts: [nameParameters(readFileSync(file, 'utf8')).text], unknown: [] }
}
