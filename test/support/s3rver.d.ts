// The package brings no types. What is used here of its application, which is one of Koa.
declare module '@20minutes/s3rver' {
  import type { IncomingMessage, ServerResponse } from 'node:http'
  import type { AddressInfo } from 'node:net'

  export interface S3Context {
    readonly req: IncomingMessage
    readonly res: ServerResponse
    readonly method: string
    readonly path: string
    readonly state: { vhost?: boolean }
    mountPath?: string
    status: number
    type: string
    body: unknown
    respond: boolean
  }
  export type S3Step = (context: S3Context, next: () => Promise<void>) => Promise<void>

  class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
      readonly configureBuckets: readonly { readonly name: string; readonly configs: readonly [] }[]
    })
    readonly middleware: S3Step[]
    run(): Promise<AddressInfo>
    close(): Promise<void>
  }
  export { S3rver as default }
}
