import { computed, type ComputedRef } from 'vue'

import { useSession } from '@/session/session'
import { texts, type Texts } from '@/texts/texts'
import type { IconName } from '@/components/icons'

interface Page {
  /** The name of its route. Its title is in the texts. */
  readonly name: keyof Texts['pages']
  readonly icon: IconName
  /** The second key of the shortcut, after `g`. */
  readonly key: string
  /** Shown only to users who may see the jobs of all users. */
  readonly staff: boolean
}

export interface PageLink extends Page {
  readonly title: string
}

const PAGES: readonly Page[] = [
  { name: 'now', icon: 'overview', key: 'n', staff: true },
  { name: 'jobs', icon: 'jobs', key: 'j', staff: false },
  { name: 'errors', icon: 'errors', key: 'e', staff: true },
  { name: 'schedules', icon: 'schedules', key: 's', staff: true },
  { name: 'queues', icon: 'queues', key: 'q', staff: true },
  { name: 'types', icon: 'types', key: 't', staff: true },
  { name: 'limits', icon: 'limits', key: 'l', staff: true },
  { name: 'fleet', icon: 'nodes', key: 'f', staff: true },
  { name: 'journal', icon: 'changes', key: 'c', staff: true },
]

/** Return the pages of the dashboard that the user may see. */
export function usePages(): { pages: ComputedRef<readonly PageLink[]> } {
  const session = useSession()
  return {
    pages: computed(() =>
      PAGES.filter((page) => session.me === null || session.seesAll || !page.staff).map((page) => ({
        ...page,
        title: texts.value.pages[page.name],
      })),
    ),
  }
}
