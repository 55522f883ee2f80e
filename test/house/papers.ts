import type { Tree } from './tree.ts'

/** Commands in the docs that package.json does not have, as `file: name`. */
export function unknownCommands(papers: Tree, scripts: Readonly<Record<string, string>>): string[] {
  const found: string[] = []
  for (const [path, text] of papers) {
    for (const [, name] of text.matchAll(/\bnpm run (?:-s |--silent )?([a-z][\w:-]*)/g)) {
      if (name !== undefined && !Object.hasOwn(scripts, name)) found.push(`${path}: ${name}`)
    }
  }
  return found
}

/** Links to missing files, as `file: link`. */
export function deadLinks(papers: Tree, exists: (path: string) => boolean): string[] {
  const found: string[] = []
  for (const [path, text] of papers) {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : ''
    for (const [, link] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (link === undefined || /^[a-z]+:/.test(link)) continue
      if (!exists(folder + link)) found.push(`${path}: ${link}`)
    }
  }
  return found
}

/** Missing files and folders of the project that the docs name in code, as `file: path`. */
export function deadPaths(papers: Tree, exists: (path: string) => boolean): string[] {
  const found: string[] = []
  for (const [file, text] of papers) {
    for (const [, path] of text.matchAll(/`((?:src|jobs|test|sql|docs|inputs)\/[^\s`]*)`/g)) {
      // NAME and * are placeholders.
      if (path === undefined || /[A-Z]{3,}|[*…]/.test(path)) continue
      if (!exists(path)) found.push(`${file}: ${path}`)
    }
  }
  return found
}

/** Rooms on the floors of a diagram of the house, as `floor room`, without its descriptions. */
export function picturedRooms(page: string, rooms: ReadonlySet<string>): string[] {
  const picture = page.split('\n```')[1] ?? ''
  const found = [...picture.matchAll(/^ ?(\d+) +(.*)$/gm)].flatMap(([, floor, line = '']) => {
    const folder = /^(?:core|features)\//.exec(line)?.[0] ?? ''
    const words = line.match(/[a-z-]+/g) ?? []
    return words
      .flatMap((word) => [word, folder + word])
      .filter((room) => rooms.has(room))
      .map((room) => `${floor} ${room}`)
  })
  return [...new Set(found)].toSorted()
}

/** The program files that scripts start, by the name of the script. */
export function jobsOf(scripts: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const jobs = new Map<string, string>()
  for (const [name, command] of Object.entries(scripts)) {
    const job = / run\.mjs ([a-z][a-z-]*)$/.exec(command)?.[1]
    const file = job === undefined ? /\b(test\/[\w/-]+\.ts)\b/.exec(command)?.[1] : `jobs/${job}.ts`
    if (file !== undefined) jobs.set(name, file)
  }
  return jobs
}

// In pieces, so that this file does not match itself.
const hosts = [
  ['registry', 'npmjs', 'org'],
  ['registry', 'yarnpkg', 'com'],
  ['deb', 'debian', 'org'],
  ['ghcr', 'io'],
  ['docker', 'io'],
].map((parts) => parts.join('.'))

/** Places that exist only on some machines: hosts of package registries, and folders of one workplace. */
export function placesOfOneMachine(tree: Tree): string[] {
  const found: string[] = []
  for (const [path, text] of tree) {
    for (const host of hosts) if (text.includes(host)) found.push(`${path}: ${host}`)
    const folder = /(?<![\w.*:}/$-])\/(?:work|root|home\/[a-z]+|Users\/[A-Za-z]+)\/[\w.]+/.exec(
      text,
    )
    if (folder !== null) found.push(`${path}: ${folder[0]}`)
  }
  return found
}

/** Names of settings that an example file sets, or shows after a `#`, in order. */
export function settingsShown(text: string): string[] {
  return [...text.matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name ?? '')
}

/** Strings in a text that look like a real key. */
export function keysShown(text: string): string[] {
  return [...text.matchAll(/sk_live_[A-Za-z0-9]{8,}|sk_test_[A-Za-z0-9]{20,}/g)].map(([key]) => key)
}
