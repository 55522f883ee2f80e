import * as ast from 'typescript/unstable/ast'
import type { Compiler } from './compiler.ts'

/** A statement in each form that its fragments can take, with `$1`, `$2` … for its parameters. */
export interface Texts {
  readonly texts: readonly string[]
  /** Fragments that are known only at run time; they are left out. */
  readonly unknown: readonly string[]
}

/** Assembles the text of a statement without running the program. */
export function textsOf(compiler: Compiler, statement: ast.Expression): Texts {
  const writer = new Writer(compiler)
  const texts = writer.fragment(statement).map((text) => {
    let count = 0
    return text.replaceAll(hole, () => `$${(count += 1)}`)
  })
  return { texts, unknown: writer.unknown }
}

/** Placeholder for a value until all of them are counted; it occurs in no statement. */
const hole = '\u0000'
type Bound = ReadonlyMap<ast.Node, ast.Expression>

class Writer {
  readonly unknown: string[] = []
  readonly #compiler: Compiler
  #bound: Bound = new Map()

  constructor(compiler: Compiler) {
    this.#compiler = compiler
  }

  fragment(node: ast.Expression): readonly string[] {
    if (ast.isTaggedTemplateExpression(node)) {
      return this.#template(node.template, (inside) =>
        this.#isFragment(inside) ? this.fragment(inside) : [hole],
      )
    }
    if (ast.isParenthesizedExpression(node)) return this.fragment(node.expression)
    if (ast.isConditionalExpression(node)) {
      return [...this.fragment(node.whenTrue), ...this.fragment(node.whenFalse)]
    }
    if (ast.isCallExpression(node)) return this.#call(node)
    if (ast.isIdentifier(node)) return this.#named(node)
    if (ast.isTemplateExpression(node)) return this.#template(node, (inside) => this.#words(inside))
    const isText = ast.isStringLiteral(node) || ast.isNoSubstitutionTemplateLiteral(node)
    return isText ? [node.text] : this.#leaveOut(node)
  }

  /** The text of a template, with all possible values of its placeholders. */
  #template(
    template: ast.TemplateLiteral,
    inside: (node: ast.Expression) => readonly string[],
  ): readonly string[] {
    if (ast.isNoSubstitutionTemplateLiteral(template)) return [template.text]
    return template.templateSpans.reduce<readonly string[]>(
      (texts, { expression, literal }) => {
        const parts = inside(expression)
        return texts.flatMap((text) => parts.map((part) => text + part + literal.text))
      },
      [template.head.text],
    )
  }

  /** The value of a name: a constant of the program, or the number of a list. */
  #words(node: ast.Expression): readonly string[] {
    const declared = ast.isIdentifier(node) ? this.#compiler.declaration(node) : undefined
    const made = declared !== undefined && ast.isVariableDeclaration(declared)
    return made && declared.initializer !== undefined ? this.fragment(declared.initializer) : ['0']
  }

  #isFragment(node: ast.Expression): boolean {
    const type = this.#compiler.checker.getTypeAtLocation(node)
    return type?.getSymbol()?.name === 'RawBuilder'
  }

  #named(node: ast.Identifier): readonly string[] {
    const declared = this.#compiler.declaration(node)
    if (declared === undefined) return this.#leaveOut(node)
    const given = this.#bound.get(declared)
    if (given !== undefined) return this.fragment(given)
    const made = ast.isVariableDeclaration(declared) ? declared.initializer : undefined
    return made === undefined ? this.#leaveOut(node) : this.fragment(made)
  }

  #call(node: ast.CallExpression): readonly string[] {
    const { expression: callee, arguments: given } = node
    if (ast.isPropertyAccessExpression(callee)) {
      const made = this.#maker(callee.name.text, given)
      return made ?? this.#leaveOut(node)
    }
    const called = ast.isIdentifier(callee) ? this.#compiler.declaration(callee) : undefined
    if (called === undefined || !ast.isFunctionDeclaration(called)) return this.#leaveOut(node)
    const before = this.#bound
    const pairs = called.parameters.map((each, index) => [each, given[index]] as const)
    this.#bound = new Map([...before, ...pairs.filter(isGiven)])
    const made = returned(called).flatMap((each) => this.fragment(each))
    this.#bound = before
    return made
  }

  /** Kysely functions that write names: `sql.id`, `sql.table`, `sql.raw`. */
  #maker(name: string, given: readonly ast.Expression[]): readonly string[] | null {
    if (!['id', 'table', 'raw'].includes(name)) return null
    return [given.flatMap((word) => this.fragment(word)).join('.')]
  }

  #leaveOut(node: ast.Expression): readonly string[] {
    this.unknown.push(node.getText())
    return ['']
  }
}

type Given = readonly [ast.ParameterDeclaration, ast.Expression]

function isGiven(
  pair: readonly [ast.ParameterDeclaration, ast.Expression | undefined],
): pair is Given {
  return pair[1] !== undefined
}

/** Return values of a function, for each of its return statements. */
function returned(called: ast.FunctionDeclaration): readonly ast.Expression[] {
  const found: ast.Expression[] = []
  const visit = (node: ast.Node): void => {
    if (ast.isReturnStatement(node) && node.expression !== undefined) found.push(node.expression)
    else node.forEachChild(visit)
  }
  called.body?.forEachChild(visit)
  return found
}
