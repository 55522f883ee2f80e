import { nodesOf, type Tree } from './tree.ts'

const mostLines = 60

/** Programs that may load more than one module on use, each with the reason. */
const manyLoads: Readonly<Record<string, string>> = {
  'jobs/demo.ts': 'the mill and the search service meet over HTTP: only a job sees both',
  'jobs/nightly.ts': 'only a job sees both the scheduler and the desk beside it',
  'jobs/work.ts': 'only a job sees the worker, the monitor and the desk beside it',
}

/** Programs that contain more than their help text and one import, as `path: what`. */
export function thickJobs(
  tree: Tree,
  known: Readonly<Record<string, string>> = manyLoads,
): string[] {
  return [...tree]
    .filter(([path]) => path.startsWith('jobs/'))
    .flatMap(([path, text]) => {
      const lines = text.trimEnd().split('\n').length
      const loads = nodesOf(path, text).filter(({ type }) => type === 'ImportExpression').length
      return [
        ...(lines > mostLines ? [`${path}: ${lines} lines`] : []),
        ...(loads > 1 && known[path] === undefined ? [`${path}: ${loads} lazy imports`] : []),
        ...(loads <= 1 && known[path] !== undefined ? [`${path}: need not be excused`] : []),
      ]
    })
}
