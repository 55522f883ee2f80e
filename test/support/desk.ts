// const desk = await openDesk(database.url) → a desk on a free port, over HTTP: `desk.get('/')` gives { status, text,
// headers }; `desk.close()` ends it. Other settings and a password are optional.
import { mkdtempSync, rmSync } from 'node:fs'
import { request, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serveDesk } from '../../src/desk/command.ts'
import { type Environment, readConfig } from '../../src/base/config.ts'
import { Secret } from '../../src/base/secret.ts'

interface DeskAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Ask {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface TestDesk extends Awaited<ReturnType<typeof serveDesk>> {
  readonly told: readonly string[]
  readonly get: (path: string, ask?: Ask) => Promise<DeskAnswer>
}

export interface TestDeskOptions {
  readonly password?: string
  readonly publicUrl?: string
  readonly settings?: Environment
}

export async function openDesk(
  databaseUrl: string,
  { password, publicUrl, settings = {} }: TestDeskOptions = {},
): Promise<TestDesk> {
  const home = mkdtempSync(join(tmpdir(), 'querymill-desk-'))
  const told: string[] = []
  const desk = await serveDesk({
    config: readConfig({ DATABASE_URL: databaseUrl, MILL_HOME: home, ...settings }),
    host: '127.0.0.1',
    port: 0,
    password: password === undefined ? null : new Secret(password),
    publicUrl: publicUrl === undefined ? null : new URL(publicUrl),
    report: (line) => void told.push(line),
  })
  const close = async () => {
    await desk.close()
    rmSync(home, { recursive: true, force: true })
  }
  return { ...desk, told, close, get: (path, ask = {}) => send(desk.port, path, ask) }
}

/** Without `fetch`, which would not allow a fake host name. */
function send(port: number, path: string, { method = 'GET', headers = {}, body }: Ask) {
  return new Promise<DeskAnswer>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (piece: string) => (text += piece))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
