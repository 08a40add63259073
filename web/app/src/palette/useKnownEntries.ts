import { computed, shallowRef, type ComputedRef } from 'vue'

import { server } from '@/api/server'
import { changeZone, zone } from '@/format/zone'
import { resumeEverything } from '@/layout/everything'
import { usePages, type PageLink } from '@/layout/pages'
import { errorText, notify } from '@/notices/notices'
import { refreshNow } from '@/refresh/manualRefresh'
import { useSession } from '@/session/session'
import { texts } from '@/texts/texts'
import type { Entry } from './entries'

export interface KnownEntries {
  readonly entries: ComputedRef<readonly Entry[]>
  /** Read the names of queues and types, which are complete and bounded, once each time the palette opens. */
  readonly load: () => Promise<void>
}

interface Names {
  readonly queues: readonly string[]
  readonly types: readonly string[]
  readonly everythingIsPaused: boolean
}

/** The entries that are searched on the page: views, queues, job types and deeds. */
export function useKnownEntries(askToPause: () => void): KnownEntries {
  const session = useSession()
  const { pages } = usePages()
  const names = shallowRef<Names>({ queues: [], types: [], everythingIsPaused: false })

  async function load(): Promise<void> {
    if (!session.seesAll) return
    try {
      names.value = await readNames()
    } catch (error) {
      notify('failed', errorText(error))
    }
  }

  const entries = computed((): Entry[] => [
    ...pages.value.map(pageEntry),
    ...names.value.queues.map(queueEntry),
    ...names.value.types.map(typeEntry),
    ...(session.changesAll ? [everythingDeed(names.value.everythingIsPaused, askToPause)] : []),
    ...displayDeeds(),
  ])

  return { entries, load }
}

async function readNames(): Promise<Names> {
  const [queues, past, { nodes }, { paused }] = await Promise.all([
    server.queues(),
    server.queueHistory('24h'), // most queues are idle at the moment
    server.nodes(),
    server.everything(),
  ])
  return {
    queues: [...new Set([...queues, ...past.queues].map(({ name }) => name))],
    types: [...new Set(nodes.flatMap((node) => node.types))].sort(),
    everythingIsPaused: paused,
  }
}

function pageEntry({ name, title, icon }: PageLink): Entry {
  return { id: name, kind: 'page', icon, title, target: { name } }
}

function queueEntry(name: string): Entry {
  const target = { name: 'queue', params: { name } }
  return { id: name, kind: 'queue', icon: 'queues', title: name, target }
}

function typeEntry(name: string): Entry {
  const target = { name: 'type', params: { name } }
  return { id: name, kind: 'type', icon: 'types', title: name, target }
}

function everythingDeed(isPaused: boolean, askToPause: () => void): Entry {
  return isPaused
    ? deed('resume', texts.value.layout.resumeEverything, () => void resumeEverything())
    : deed('pause', texts.value.layout.pauseEverything, askToPause)
}

function displayDeeds(): Entry[] {
  const words = texts.value.palette
  return [
    deed('refresh', texts.value.layout.refreshNow, refreshNow),
    deed('utc', zone.value === 'utc' ? words.localTimes : words.utcTimes, changeZone),
  ]
}

function deed(id: string, title: string, target: () => void): Entry {
  return { id, kind: 'deed', icon: 'changes', title, target }
}
