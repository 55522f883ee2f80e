/** Most bytes of one answer of an upstream: a page of results has some tens of thousands. */
const longest = 4_000_000

/** The JSON of an answer; undefined when it is none, or longer than any answer can be. */
export async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let length = 0
  if (response.body === null) return undefined
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    length += chunk.length
    // Leaving the loop ends the connection.
    if (length > longest) return undefined
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown
  } catch {
    // No JSON is no answer, whatever it is instead.
    return undefined
  }
}
