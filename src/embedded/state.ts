import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { WrongDatabase } from '../shared/errors.ts'
import { isMissing, readIfThere, writePrivate } from './files.ts'

const shape = z.object({ data: z.string(), port: z.number(), password: z.string() })

/** What the commands of one MILL_HOME share about their server. */
export interface State {
  /** The data folder, absolute. */
  readonly data: string
  readonly port: number
  readonly password: string
}

const file = 'postgres.json'

/** Null before the first start. */
export function readState(home: string): State | null {
  const text = readIfThere(join(home, file))
  if (text === null) return null
  const state = shape.parse(JSON.parse(text))
  return { ...state, data: resolve(home, state.data) }
}

/** Data inside the home are named relative to it, so that a moved home finds them. */
export function writeState(home: string, state: State): void {
  const inside = state.data.startsWith(`${home}/`)
  const data = inside ? state.data.slice(home.length + 1) : state.data
  writePrivate(join(home, file), `${JSON.stringify({ ...state, data })}\n`)
}

/** The address for clients. */
export function urlOf(state: State, database = 'querymill'): string {
  return `postgres://querymill:${state.password}@127.0.0.1:${state.port}/${database}`
}

/** Refuses data that another release of PostgreSQL made: it cannot read them. */
export function checkMajor(data: string, major: number): void {
  const found = readMajor(data)
  if (found === major) return
  throw new WrongDatabase(
    `expected data of PostgreSQL ${major} in ${data}, got data of PostgreSQL ${found ?? 'unknown'}; ` +
      `go back to the release of this program that made them and copy what you need with npm run export, or set MILL_HOME to a new folder`,
  )
}

function readMajor(data: string): number | null {
  try {
    return Number(readFileSync(join(data, 'PG_VERSION'), 'utf8'))
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}
