// Defines the exit codes, and errors that a user can act on.

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

/** Returns the code of a system or database error, or null if the error has none. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

/** Returns the message of a thrown value. For an AggregateError, this is the message of the first error. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  // The message of an error from `fetch` is only "fetch failed".
  if (error instanceof TypeError && error.cause !== undefined) return reasonOf(error.cause)
  return error instanceof Error ? error.message || error.name : String(error)
}

/** Builds the error for an exhaustive switch's default branch, which the compiler proves unreachable. */
export function unhandled(what: string, value: never): Error {
  return new Error(`unhandled ${what} ${JSON.stringify(value)}`)
}

/** A known error. The message says what happened, why, and what to do. The class determines what happens next. */
export abstract class MillError extends Error {
  abstract readonly exit: Exit
  // `new.target` is undefined in field initializers.
  override readonly name: string = this.constructor.name
}

export class Misuse extends MillError {
  override readonly exit = exits.usage
}

/** Invalid settings. The message lists all problems at once. */
export class BadSettings extends MillError {
  override readonly exit = exits.usage

  constructor(problems: readonly string[]) {
    super(`the settings are invalid:\n${problems.map((problem) => `- ${problem}`).join('\n')}`)
  }
}

/** The request would use more credits than allowed or available. Nothing was bought. */
export class OverBudget extends MillError {
  override readonly exit = exits.stopped
}

/** The database, the queue or the API is unreachable. Retrying later may help. */
export class Unreachable extends MillError {
  override readonly exit = exits.unreachable
}

/** The database is older or newer than this release requires, or was edited. */
export class WrongDatabase extends MillError {
  override readonly exit = exits.unreachable
}

/** The user stopped the command, for example with Ctrl-C. */
export class Interrupted extends MillError {
  override readonly exit = exits.interrupted
}

const unreadableReasons: Readonly<Record<string, string>> = {
  ENOENT: 'a path that does not exist; check the path',
  EACCES: 'a file that you are not allowed to read; change its permissions',
  ELOOP: 'a link to itself; choose another file',
  ENOTDIR: 'a path that uses a file as a folder; check the path',
}

/** Explains why a file cannot be read, and what to do. `folder` is the advice for folders. */
export function unreadable(shown: string, cause: unknown, folder: string): Misuse {
  const code = codeOf(cause) ?? 'an error'
  const got = code === 'EISDIR' ? folder : (unreadableReasons[code] ?? code)
  return new Misuse(`expected ${shown} to be a readable file, got ${got}`, { cause })
}
