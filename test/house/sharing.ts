import { roomOf } from './floors.ts'
import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

/**
 * Files of src/shared/ that one room alone uses, or none: they belong there. A room also uses what it reaches through
 * other files of src/shared/; for what speaks to a terminal each program of jobs/ counts as a room.
 */
export function lonely(tree: Tree): string[] {
  const users = new Map<string, Set<string>>()
  const imports = importsOf(tree).filter(
    ({ from, to }) => to.startsWith('src/shared/') && !from.startsWith('test/'),
  )
  const visit = (file: string, user: string): void => {
    const known = users.get(file) ?? new Set()
    if (known.has(user)) return
    users.set(file, known.add(user))
    for (const { from, to } of imports) if (from === file) visit(to, user)
  }
  for (const { from, to } of imports) {
    if (!from.startsWith('src/shared/')) visit(to, from.startsWith('jobs/') ? from : roomOf(from))
  }
  return [...tree.keys()].filter((file) => {
    if (!file.startsWith('src/shared/')) return false
    const each = file.startsWith('src/shared/terminal/')
    const rooms = [...(users.get(file) ?? [])].map((user) =>
      each || !user.startsWith('jobs/') ? user : 'jobs',
    )
    return new Set(rooms).size < 2
  })
}
