import { shallowRef, type Ref } from 'vue'

import type { Queue } from '@/api/model'
import { server } from '@/api/server'
import { perform } from '@/notices/notices'
import { texts, type Texts } from '@/texts/texts'

export interface UseQueueChangesReturn {
  /** The queue that a dialog is about. */
  readonly selected: Ref<Queue | null>
  readonly pausing: Ref<boolean>
  readonly limiting: Ref<boolean>
  readonly sharing: Ref<boolean>
  readonly askToPause: (queue: Queue) => void
  readonly askForLimit: (queue: Queue) => void
  readonly pause: (note: string | null) => Promise<void>
  readonly limit: (limit: number | null) => Promise<void>
  readonly takeTurns: (by: string | null) => Promise<void>
  readonly reset: (queue: Queue) => Promise<void>
  readonly resume: (queue: Queue) => Promise<void>
}

/** Change queues, with a dialog where something is to be entered. `refresh` is called after each change. */
export function useQueueChanges(refresh: () => void): UseQueueChangesReturn {
  const selected = shallowRef<Queue | null>(null)
  const pausing = shallowRef(false)
  const limiting = shallowRef(false)
  const words = (): Texts['queues'] => texts.value.queues

  async function change(
    queue: Queue | null,
    call: (name: string) => Promise<unknown>,
    done: (name: string) => string,
  ): Promise<void> {
    if (queue === null) return
    await perform(() => call(queue.name), done(queue.name))
    refresh()
  }

  function ask(queue: Queue, dialog: Ref<boolean>): void {
    selected.value = queue
    dialog.value = true
  }

  return {
    ...{ selected, pausing, limiting, sharing: shallowRef(false) },
    askToPause: (queue) => ask(queue, pausing),
    askForLimit: (queue) => ask(queue, limiting),
    pause: (note) =>
      change(selected.value, (name) => server.pauseQueue(name, note), words().wasPaused),
    limit: (limit) =>
      change(
        selected.value,
        (name) => server.limitQueue(name, limit),
        (name) => (limit === null ? words().limitRemoved(name) : words().limitSet(name, limit)),
      ),
    takeTurns: (by) =>
      change(
        selected.value,
        (name) => server.makeQueueFair(name, by),
        (name) => (by === null ? words().turnsRemoved(name) : words().turnsSet(name, by)),
      ),
    reset: (queue) => change(queue, server.resetQueue, words().wasReset),
    resume: (queue) => change(queue, server.resumeQueue, words().wasResumed),
  }
}
