import { request, type IncomingHttpHeaders } from 'node:http'

export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly chunks: number
}

export interface GetOptions {
  readonly method?: string
  readonly timeoutMs?: number
  readonly body?: string
}

/**
 * Sends one request on a new connection, and returns the raw response: nothing is decompressed, followed or retried.
 */
export function get(
  url: string,
  headers: Record<string, string> = {},
  timeoutMs = 30_000,
): Promise<Got> {
  return send(url, headers, { timeoutMs })
}

/** The same with another method or with a body. */
export function send(
  url: string,
  headers: Record<string, string>,
  { method = 'GET', timeoutMs = 30_000, body }: GetOptions,
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => call.destroy(new Error('timeout')), timeoutMs)
    const call = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('aborted', () => reject(new Error('aborted')))
      response.on('end', () => {
        clearTimeout(timer)
        const { statusCode = 0, headers: got } = response
        resolve({
          status: statusCode,
          headers: got,
          body: Buffer.concat(chunks),
          chunks: chunks.length,
        })
      })
    })
    call.on('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    call.end(body)
  })
}
