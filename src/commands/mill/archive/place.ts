/** A file of an archive, as one of this machine. */
export interface FetchedFile {
  readonly path: string
  /** To be called when it was read. */
  readonly done: () => Promise<void>
}

/** Where an archive lies, as its readers see it: files by their paths below it. */
export interface ArchivePlace {
  /** As it is typed and written down. */
  readonly address: string
  /** How a file of it is called in messages. */
  where(name: string): string
  /** A small file; null: it holds none of that name. */
  readText(name: string): Promise<string | null>
  /** What lies in a folder of it, by the names there. */
  list(folder: string): Promise<readonly string[]>
  fetch(name: string): Promise<FetchedFile>
}
