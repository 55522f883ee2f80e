import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { isLoopback } from '../../shared/address.ts'
import { callerPath, type Environment } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { print, type Call } from '../../shared/terminal/command.ts'
import { startCanned } from './canned.ts'
import { startFaulty } from './faulty.ts'
import { knobShape, type KnobsInput } from './knobs.ts'
import { wholeFlag } from '../../shared/terminal/flags.ts'

/** What can be typed after `npm run stand-in --`. */
export interface StandInFlags {
  readonly port: string
  readonly host: string
  readonly faults?: string
  readonly canned?: boolean
  readonly latency: string
}

interface StandIn {
  /** What a program that started it needs to know. */
  readonly shown: { readonly url: string; readonly key: string; readonly admin?: string }
  close(): Promise<void>
}

/** The stand-in command: an API that looks nothing up, or fails on purpose, until a signal comes. */
export async function runStandIn({
  options,
  env,
  closers,
  signal,
}: Call<StandInFlags>): Promise<Exit> {
  const standIn = await startStandIn(options, env)
  closers.add('stand-in', standIn, (open) => open.close())
  print(JSON.stringify(standIn.shown))
  if (!signal.aborted) await once(signal, 'abort')
  return exits.done
}

async function startStandIn(options: StandInFlags, env: Environment): Promise<StandIn> {
  const { faults } = options
  const port = wholeFlag('port', options.port, 65_535) ?? 0
  if ((faults === undefined) === (options.canned !== true)) {
    throw new Misuse('expected either --faults or --canned')
  }
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
