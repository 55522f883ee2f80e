// Exit codes, and the errors that a person can do something about.

/** Exit codes of every command. */
export const exits = {
  done: 0,
  failures: 1,
  usage: 2,
  stopped: 3,
  key: 4,
  unreachable: 5,
  bug: 70,
  interrupted: 130,
} as const

export type Exit = (typeof exits)[keyof typeof exits]

/** The code of an error of the system or of the database; null for one that has none. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

/** Wraps a thrown value that is no error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Message of a thrown value; of an AggregateError, that of its first error. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message || error.name : String(error)
}

/** For the last branch of a switch: the compiler sees that it is never reached, and a reader of the log what did. */
export function unhandled(what: string, value: never): Error {
  return new Error(`unhandled ${what} ${JSON.stringify(value)}`)
}

/** An error that we know: one line tells a person what, why and what to do; the class says what follows. */
export abstract class MillError extends Error {
  abstract readonly exit: Exit
  // Not `new.target`: it is undefined where fields are set.
  override readonly name: string = this.constructor.name
}

/** A flag, an argument or an input file that cannot be used as it is. */
export class Misuse extends MillError {
  override readonly exit = exits.usage
}

/** The settings cannot be used; every problem is listed at once. */
export class BadSettings extends MillError {
  override readonly exit = exits.usage

  constructor(problems: readonly string[]) {
    super(`the settings are not usable:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
  }
}

/** The request costs more than is allowed or available; nothing was bought. */
export class TooDear extends MillError {
  override readonly exit = exits.stopped
}

/** The database, the queue or the API cannot be reached: the same may succeed later. */
export class Unreachable extends MillError {
  override readonly exit = exits.unreachable
}

/** The database is there but not as this program needs it: too old, edited, or newer than the program. */
export class WrongDatabase extends MillError {
  override readonly exit = exits.unreachable
}

/** A person pressed Ctrl-C, or ended the command in another way. */
export class Interrupted extends MillError {
  override readonly exit = exits.interrupted
}

const unreadableReasons: Readonly<Record<string, string>> = {
  ENOENT: 'nothing there; check the path',
  EACCES: 'a file that may not be read; change its permissions',
  ELOOP: 'a link that leads to itself; name the file',
  ENOTDIR: 'a path through something that is no folder; check the path',
}

/** Says why a file cannot be read, and what to do; what to do about a folder depends on what the file is for. */
export function unreadable(shown: string, cause: unknown, folder: string): Misuse {
  const code = codeOf(cause) ?? 'an error'
  const got = code === 'EISDIR' ? folder : (unreadableReasons[code] ?? code)
  return new Misuse(`expected ${shown} to be a readable file, got ${got}`, { cause })
}
