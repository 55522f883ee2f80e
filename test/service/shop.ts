import { startService, type ServiceOptions } from '../../src/service/start.ts'
import type { SearchResponse } from '../../src/service/schemas.ts'
import { freshUrl, stockedUrl } from '../support/database.ts'
import { send, type GetOptions, type Got } from './get.ts'

/** A response with its body read. */
export interface Reply extends Got {
  readonly json: Partial<SearchResponse> & {
    readonly error?: {
      readonly code: string
      readonly message: string
      readonly documentation: string
    }
  }
}

export interface Shop {
  readonly service: Awaited<ReturnType<typeof startService>>
  readonly databaseUrl: string
  /** A live key with this many credits. */
  live(credits?: number): Promise<string>
  test(credits?: number): Promise<string>
  /** GET with the key in the header, unless there is none. */
  ask(path: string, key?: string | null, options?: AskOptions): Promise<Reply>
}

export interface AskOptions extends GetOptions {
  readonly headers?: Record<string, string>
}

/** A service with its own database. */
export async function openShop(options: Partial<ServiceOptions> = {}): Promise<Shop> {
  const local = options.upstream === 'local'
  const databaseUrl = options.databaseUrl ?? (await (local ? stockedUrl() : freshUrl()))
  const service = await startService({ upstream: 'mock', ...options, databaseUrl })
  const create = async (kind: 'live' | 'test', credits: number) =>
    (await service.keys.create({ kind, credits })).key
  return {
    service,
    databaseUrl,
    live: (credits = 1000) => create('live', credits),
    test: (credits = 1000) => create('test', credits),
    async ask(path, key = null, { headers = {}, ...rest } = {}) {
      const authorization = key === null ? {} : { authorization: `Bearer ${key}` }
      const got = await send(`${service.url}${path}`, { ...authorization, ...headers }, rest)
      return { ...got, json: readJson(got.body) }
    },
  }
}

function readJson(body: Buffer): Reply['json'] {
  const text = String(body)
  return text.startsWith('{') ? (JSON.parse(text) as Reply['json']) : {}
}
