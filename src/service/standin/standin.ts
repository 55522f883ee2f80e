import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { isLoopback } from '../../shared/address.ts'
import { callerPath, type Environment } from '../../shared/config.ts'
import { Misuse } from '../../shared/errors.ts'
import { startCanned } from './canned.ts'
import { startFaulty } from './faulty.ts'
import { knobShape, type KnobsInput } from './knobs.ts'
import { wholeFlag } from '../../shared/terminal/flags.ts'

export interface StandInOptions {
  readonly host: string
  readonly faults?: string
  readonly canned?: boolean
  readonly latency: string
}

export interface StandIn {
  /** What a program that started it needs to know. */
  readonly shown: { readonly url: string; readonly key: string; readonly admin?: string }
  close(): Promise<void>
}

/** Starts the stand-in that was asked for; null when the real service was. */
export async function standIn(
  options: StandInOptions,
  env: Environment,
  port: number,
): Promise<StandIn | null> {
  const faults = options.faults
  if (faults === undefined && options.canned !== true) return null
  // A stand-in answers wrongly on purpose: no other machine may reach it.
  if (!isLoopback(options.host)) {
    throw new Misuse(`expected --host to be this machine for a stand-in, got ${options.host}`)
  }
  if (faults === undefined) {
    const canned = await startCanned({
      port,
      latencyMs: wholeFlag('latency', options.latency, 600_000) ?? 0,
    })
    return { shown: { url: canned.url, key: canned.key }, close: () => canned.close() }
  }
  const faulty = await startFaulty({ port, ...readKnobs(faults, env) })
  const { url, key, admin } = faulty
  return { shown: { url, key, admin }, close: () => faulty.close() }
}

function readKnobs(text: string, env: Environment): KnobsInput {
  const path = callerPath(env, text)
  const json =
    text.trimStart().startsWith('{') || !existsSync(path) ? text : readFileSync(path, 'utf8')
  let knobs: unknown
  try {
    knobs = JSON.parse(json)
  } catch (cause) {
    throw new Misuse('expected --faults to be JSON or a file of it, got something else', { cause })
  }
  const checked = knobShape.safeParse(knobs)
  if (checked.success) return knobs as KnobsInput
  throw new Misuse(
    `expected --faults to be knobs that exist, got:\n${z.prettifyError(checked.error)}`,
  )
}
