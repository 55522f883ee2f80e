// Describes a corpus page, and reads page files.

import { open } from 'node:fs/promises'
import { tryDecode } from 'hono/utils/url'
import { z } from 'zod'
import { unreadable } from '../../base/errors.ts'

/** PostgreSQL cannot store NUL characters and lone surrogates. */
const storable = z.string().overwrite((dirty) => dirty.replaceAll('\0', ' ').toWellFormed())

/** A page, as in a line of a corpus file. */
export const documentShape = z.object({
  url: z.url({ protocol: /^https?$/ }).max(4096),
  title: storable.max(2000),
  text: storable.max(400_000).default(''),
  lang: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .default('en'),
  /** Names of the page's subjects. */
  entities: z
    .array(z.object({ name: storable.min(2).max(200), type: storable.max(50) }))
    .default([]),
})

export type Document = z.output<typeof documentShape>

/** Removes the site name from a title, as in `documents.head`. */
export function titleAlone(title: string): string {
  return title.replace(/( - [^|]+ \| MDN| \| [^|]+| - Web features explorer)$/, '')
}

/** Returns additional search terms: the words in the page's address, and in names such as `ServiceWorker`. */
export function furtherWords({ title, url }: Pick<Document, 'title' | 'url'>): string {
  const camel = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g
  const texts = `${titleAlone(title)} ${tryDecode(new URL(url).pathname, decodeURIComponent)}`
  const words = texts.split(/[^\p{L}\p{N}]+/u).flatMap((word) => word.split(camel))
  return [...new Set(words.filter((word) => word !== ''))].join(' ')
}

export async function* readLines(path: string, shown: string): AsyncGenerator<string> {
  const folder = 'a folder; name the files in it'
  const handle = await open(path).catch((cause: unknown) => {
    throw unreadable(shown, cause, folder)
  })
  try {
    if ((await handle.stat()).isDirectory()) throw unreadable(shown, { code: 'EISDIR' }, folder)
    yield* handle.readLines()
  } finally {
    await handle.close()
  }
}
