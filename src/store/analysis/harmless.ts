import { Misuse } from '../../shared/errors.ts'

/**
 * Functions by which a text that only reads could change who it reads as, how long it may take, or what others may do:
 * those that change settings, those that run a text as SQL, which hides anything, and locks that outlive a transaction.
 */
const harmful =
  /(set_config|query_to_xml|cursor_to_xml|ts_stat|ts_rewrite|advisory_(?:xact_)?lock|dblink|pg_settings|pg_read_|pg_ls_|pg_stat_file|lo_import|lo_export|lo_get|pg_logical_emit_message|pg_notify|pg_sleep_until|pg_terminate_backend|pg_cancel_backend)/i

/** Identifiers that are spelled in numbers: any name could hide in one. */
const spelled = /u&\s*["']/i

/** What analysts make themselves may hold anything. */
const theirs = /\bscratch\b/i

/** Refuses SQL of strangers that could do more than read. */
export function expectHarmless(text: string): void {
  const word = [harmful, spelled, theirs].map((pattern) => pattern.exec(text)?.[0]).find(Boolean)
  if (word === undefined) return
  throw new Misuse(
    `expected SQL that only reads, got ${JSON.stringify(word)}, which is refused here wherever it stands; npm run sql on the machine itself takes it`,
  )
}
