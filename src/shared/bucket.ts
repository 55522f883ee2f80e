import { z } from 'zod'
import { Secret } from './secret.ts'

/** How a bucket is asked; what is null, its client finds where programs of AWS look. */
export interface BucketAccess {
  readonly keyId: string | null
  readonly secret: Secret | null
  readonly session: Secret | null
  readonly region: string | null
  /** By the setting that says so. */
  readonly endpoint: { readonly name: string; readonly text: string } | null
}

/** Settings of buckets, by the names that programs of AWS read. */
export const bucketSettings = {
  AWS_ACCESS_KEY_ID: {
    shape: z.string(),
    hint: 'the key for a bucket of the archive; leave it unset to let it be found as programs of AWS do',
  },
  AWS_SECRET_ACCESS_KEY: {
    shape: z.string().transform((text) => new Secret(text)),
    hint: 'the secret half of the key',
  },
  AWS_SESSION_TOKEN: {
    shape: z.string().transform((text) => new Secret(text)),
    hint: 'what a key for some hours has beside its halves',
  },
  AWS_REGION: { shape: z.string(), hint: 'where the bucket lies' },
  // Other programs read these as well: what they say is judged when a bucket is asked, and stops nothing else.
  AWS_ENDPOINT_URL: { shape: z.string(), hint: 'leave it unset for AWS' },
  AWS_ENDPOINT_URL_S3: { shape: z.string(), hint: 'leave it unset for AWS' },
} as const
