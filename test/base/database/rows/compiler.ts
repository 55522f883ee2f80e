// const compiler = openCompiler(); … compiler.close(): type information about the project's files.
import { join } from 'node:path'
import { API, SymbolFlags, type Checker } from 'typescript/unstable/sync'
import type { Identifier, Node, SourceFile } from 'typescript/unstable/ast'
import { root } from '../../../../src/base/root.ts'

export interface Compiler {
  readonly checker: Checker
  readonly source: (path: string) => SourceFile
  /** The declaration of a name, in any file; undefined for names of the language itself. */
  readonly declaration: (name: Identifier) => Node | undefined
  readonly close: () => void
}

export function openCompiler(): Compiler {
  const api = new API({ cwd: root })
  const config = join(root, 'tsconfig.json')
  const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
  if (project === undefined) throw new Error(`expected the project of ${config}, got none`)
  const { checker, program } = project
  return {
    checker,
    source: (path) => {
      const source = program.getSourceFile(join(root, path))
      if (source === undefined) throw new Error(`expected ${path} in the project, got no such file`)
      return source
    },
    declaration: (name) => {
      const symbol = checker.getSymbolAtLocation(name)
      const imported = symbol !== undefined && (symbol.flags & SymbolFlags.Alias) !== 0
      const found = imported ? checker.getAliasedSymbol(symbol) : symbol
      return found?.valueDeclaration?.resolve()
    },
    close: () => api.close(),
  }
}
