import { computed, type ComputedRef } from 'vue'

import { useSession } from '@/session/session'
import type { IconName } from '@/components/icons'

export interface PageLink {
  readonly name: string
  readonly title: string
  readonly icon: IconName
  /** The second key of the shortcut, after `g`. */
  readonly key: string
  /** Shown only to users who may see the jobs of all users. */
  readonly staff: boolean
}

const PAGES: readonly PageLink[] = [
  { name: 'overview', title: 'Overview', icon: 'overview', key: 'o', staff: true },
  { name: 'jobs', title: 'Jobs', icon: 'jobs', key: 'j', staff: false },
  { name: 'errors', title: 'Errors', icon: 'errors', key: 'e', staff: true },
  { name: 'schedules', title: 'Schedules', icon: 'schedules', key: 's', staff: true },
  { name: 'queues', title: 'Queues', icon: 'queues', key: 'q', staff: true },
  { name: 'limits', title: 'Limits', icon: 'limits', key: 'l', staff: true },
  { name: 'nodes', title: 'Nodes', icon: 'nodes', key: 'n', staff: true },
  { name: 'deployments', title: 'Deployments', icon: 'deployments', key: 'd', staff: true },
  { name: 'changes', title: 'Changes', icon: 'changes', key: 'c', staff: true },
]

/** Return the pages of the dashboard that the user may see. */
export function usePages(): { pages: ComputedRef<readonly PageLink[]> } {
  const session = useSession()
  return {
    pages: computed(() =>
      PAGES.filter((page) => session.me === null || session.seesAll || !page.staff),
    ),
  }
}
