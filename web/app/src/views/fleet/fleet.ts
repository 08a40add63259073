import type { DeadNode, HoraeNode } from '@/api/model'
import type { Deployment } from '@/api/schedules'
import { texts } from '@/texts/texts'

/** The slots of all live workers, and how many are taken. */
export function slotsOf(nodes: readonly HoraeNode[]): { used: number; all: number } {
  const alive = nodes.filter((node) => node.alive && node.roles.includes('worker'))
  return {
    used: alive.reduce((sum, node) => sum + node.slots_used, 0),
    all: alive.reduce((sum, node) => sum + node.slots, 0),
  }
}

/** Say what became of the jobs that a dead node held. */
export function fateOf({ jobs }: DeadNode): string {
  const words = texts.value.fleet
  const fates = Object.entries(jobs).sort(([left], [right]) => left.localeCompare(right))
  if (fates.length === 0) return words.heldNothing
  return fates.map(([state, count]) => words.fate(count, state)).join(', ')
}

/** Return the live nodes that know all job types of a deployment's schedules; null if it has none now. */
export function nodesRunning(
  { types }: Deployment,
  nodes: readonly HoraeNode[],
): readonly HoraeNode[] | null {
  if (types.length === 0) return null
  return nodes.filter((node) => node.alive && types.every((type) => node.types.includes(type)))
}

/** Return the version that a deployment took the place of: the previous one of its module. */
export function previousOf(
  deployment: Deployment,
  all: readonly Deployment[],
): Deployment | undefined {
  return all
    .filter(
      (each) =>
        each.module === deployment.module &&
        each.key !== deployment.key &&
        each.created_on < deployment.created_on,
    )
    .sort((left, right) => right.created_on.localeCompare(left.created_on))[0]
}
