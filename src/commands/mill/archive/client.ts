import type * as S3 from '@aws-sdk/client-s3'
import type { BucketAccess } from '../../../shared/bucket.ts'
import { BadSettings, codeOf, Misuse } from '../../../shared/errors.ts'

/** What speaks to a bucket, and the words that it is spoken to with. */
export interface BucketClient {
  readonly sdk: typeof S3
  readonly client: S3.S3Client
}

/** Nothing that hangs: a line that is silent for so long has broken. */
const silenceMs = 60_000
const connectMs = 10_000

/** Opens the client; what the settings do not say, it looks for where programs of AWS do. */
export async function openClient(access: BucketAccess): Promise<BucketClient> {
  const { region } = access
  const endpoint = readEndpoint(access)
  const credentials = readKey(access)
  const sdk = await loadSdk()
  const client = new sdk.S3Client({
    // Others than AWS mostly have no regions, and their endpoint says where.
    ...(region === null ? (endpoint === null ? {} : { region: 'us-east-1' }) : { region }),
    // Their buckets need not have names of hosts.
    ...(endpoint === null ? {} : { endpoint: endpoint.href, forcePathStyle: true }),
    ...(credentials === null ? {} : { credentials }),
    // Not all know the newer checksums; whatever was put is read back and hashed.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, socketTimeout: silenceMs },
  })
  return { sdk, client }
}

/** Whoever has no bucket does not install what speaks to one. */
async function loadSdk(): Promise<typeof S3> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (cause) {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Misuse(
      'expected the client for buckets to be installed, got none; type: npm install @aws-sdk/client-s3',
      { cause },
    )
  }
}

function readEndpoint({ endpoint }: BucketAccess): URL | null {
  if (endpoint === null) return null
  const url = URL.canParse(endpoint.text) ? new URL(endpoint.text) : null
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url
  throw new BadSettings([
    `${endpoint.name}: expected an address like https://s3.example.com, got ${JSON.stringify(endpoint.text)}; leave it unset for AWS`,
  ])
}

function readKey({ keyId, secret, session }: BucketAccess) {
  if (keyId === null && secret === null) return null
  if (keyId === null || secret === null) {
    const missing = keyId === null ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY'
    throw new BadSettings([
      `${missing}: expected a value, since the other half of the key is set, got nothing; set both or none`,
    ])
  }
  return {
    accessKeyId: keyId,
    secretAccessKey: secret.reveal(),
    ...(session === null ? {} : { sessionToken: session.reveal() }),
  }
}
