import { codeOf, Misuse } from './errors.ts'

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'nothing there; check the path',
  EACCES: 'a file that may not be read; change its permissions',
  ELOOP: 'a link that leads to itself; name the file',
  ENOTDIR: 'a path through something that is no folder; check the path',
}

/** Says why a file cannot be read, and what to do; what to do about a folder depends on what the file is for. */
export function unreadable(shown: string, cause: unknown, folder: string): Misuse {
  const code = codeOf(cause) ?? 'an error'
  const got = code === 'EISDIR' ? folder : (reasons[code] ?? code)
  return new Misuse(`expected ${shown} to be a readable file, got ${got}`, { cause })
}
