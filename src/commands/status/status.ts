import { readConfig } from '../../shared/config.ts'
import { exits, type Exit } from '../../shared/errors.ts'
import { print, printJson, type Call } from '../../shared/terminal/command.ts'
import { formatTable } from '../../shared/terminal/table.ts'
import type { LookOptions } from './look.ts'

export interface StatusOptions extends LookOptions {
  readonly settings?: true
}

/** Shows the settings, or the state of the mill. */
export async function showStatus(call: Call<StatusOptions>): Promise<Exit> {
  const { options, env } = call
  if (options.settings !== true) {
    const { showMill } = await import('./look.ts')
    return showMill(call)
  }
  const { sources } = readConfig(env)
  if (options.json === true) printJson(Object.fromEntries(sources))
  else {
    const rows = [...sources].map(([name, { shown, source }]) => [name, shown, source])
    print(formatTable(['setting', 'value', 'from'], rows))
  }
  return exits.done
}
