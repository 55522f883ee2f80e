import { realpathSync } from 'node:fs'
import { openPool } from '../store/database.ts'
import { urlOf, type State } from './state.ts'

/** What answers on the stored port: our server, ours without its database yet, somebody else, or nobody (yet). */
export type Contact = 'ours' | 'empty' | 'stranger' | 'silent'

/** A real connection is the only proof that a server lives: process numbers and marks in files outlast it. */
export async function contact(state: State, database = 'querymill'): Promise<Contact> {
  const pool = openPool(urlOf(state, database), { name: 'start', max: 1 })
  try {
    const { rows } = await pool.query<{ data: string }>(
      "select current_setting('data_directory') as data",
    )
    const data = rows[0]?.data ?? ''
    return realpathSync(data) === realpathSync(state.data) ? 'ours' : 'stranger'
  } catch (error) {
    return judge((error as { code?: unknown }).code)
  } finally {
    await pool.end()
  }
}

function judge(code: unknown): Contact {
  switch (code) {
    case '3D000':
      return 'empty'
    // Wrong password, no such user, no such file: somebody else got the port since.
    case '28P01':
    case '28000':
    case 'ENOENT':
      return 'stranger'
    default:
      return 'silent'
  }
}

/** The database of the pipeline, made once. */
export async function createDatabase(state: State): Promise<void> {
  const pool = openPool(urlOf(state, 'postgres'), { name: 'start', max: 1 })
  try {
    await pool.query('create database querymill')
  } catch (error) {
    // 42P04: it is there already.
    if ((error as { code?: unknown }).code !== '42P04') throw error
  } finally {
    await pool.end()
  }
}
