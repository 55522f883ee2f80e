// The init command: prepares a working folder, and never overwrites a file.

import { npmRun } from '../../base/cli/commands.ts'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Call, print, printJson } from '../../base/cli/command.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { isImage, root, workplace } from '../../base/root.ts'

export async function runInit({ options }: Call): Promise<Exit> {
  if (isImage) {
    throw new Misuse(
      'this command is not available in the image, because settings come from environment variables; see docker-compose.yml in the project',
    )
  }
  const made = prepareFolder(workplace)
  if (options.json === true) printJson({ folder: workplace, made })
  else {
    print(made.length === 0 ? 'everything exists already' : `created ${made.join(', ')}`)
    print(`next: ${npmRun('doctor')}, then ${npmRun('enqueue --')} inputs/first.csv --dry-run`)
  }
  return exits.done
}

/** Creates the settings, a `.gitignore`, a first list and the schedules if they are missing. Returns the new files. */
export function prepareFolder(folder: string): readonly string[] {
  const files = {
    '.env': readFileSync(join(root, '.env.example'), 'utf8'),
    '.gitignore': '.env\n.querymill/\n*.rejected.csv\nnode_modules/\n',
    'inputs/first.csv': 'keyword,priority,tags\nrunning shoes,1,example\ntrail shoes,5,example\n',
    'inputs/config/schedules.csv':
      'schedule,list,cron,zone,max_age,budget,priority,missed,overlap,on\n',
  }
  return Object.entries(files).flatMap(([name, text]) => {
    const path = join(folder, name)
    if (existsSync(path)) return []
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o600 })
    return [name]
  })
}
