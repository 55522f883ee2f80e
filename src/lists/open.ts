import type { ReadOptions } from './reader.ts'
import { openFile, openStream, type Source } from './source.ts'

/** Where the bytes of a list come from. */
export type ListBytes =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }

/** Opens a list, whatever it is wrapped in. */
export async function openSource(from: ListBytes, _options: ReadOptions): Promise<Source> {
  return from.kind === 'file' ? openFile(from.path, from.shown) : openStream(from.stream)
}
