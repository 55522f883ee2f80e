import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files under a folder that hold a text: logs, the files of the database, of the queue, everything. */
export function filesHolding(folder: string, text: string): string[] {
  const forms = [text, Buffer.from(text).toString('base64').replace(/=+$/, '')]
  const wanted = forms.map((form) => Buffer.from(form))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  return files
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const bytes = readFileSync(file)
      return wanted.some((form) => bytes.includes(form))
    })
}
