import { reactive, ref, watch, type Ref } from 'vue'

import type { ScheduleDraft } from './draft'

/** A draft with what it began as: that of the schedule that is edited, and its revision. */
export interface KeptDraft {
  draft: ScheduleDraft
  opened: ScheduleDraft
  revision: string | null
}

export interface UseKeptDraftReturn {
  readonly kept: KeptDraft
  /** Whether the draft was typed before the page was loaded. */
  readonly restored: Ref<boolean>
  /** Begin anew. */
  readonly reset: (fresh: KeptDraft) => void
  /** Forget the draft, once it is saved. */
  readonly forget: () => void
}

/**
 * Keep a draft for as long as the tab is open, so that neither a reload nor an error loses what was typed. Parameters
 * that `isSecret` names are not kept.
 */
export function useKeptDraft(
  key: string,
  fresh: KeptDraft,
  isSecret: (parameter: string) => boolean,
): UseKeptDraftReturn {
  const name = `horae.schedule.${key}`
  const stored = read(name)
  const kept = reactive(copyOf(stored ?? fresh))
  const restored = ref(
    stored !== null && JSON.stringify(stored.draft) !== JSON.stringify(stored.opened),
  )
  let isForgotten = false

  watch(
    kept,
    () => {
      if (!isForgotten) write(name, kept, isSecret)
    },
    { deep: true },
  )

  return {
    kept,
    restored,
    reset: (anew) => {
      Object.assign(kept, copyOf(anew))
      restored.value = false
    },
    forget: () => {
      isForgotten = true
      sessionStorage.removeItem(name)
    },
  }
}

function copyOf(value: KeptDraft): KeptDraft {
  return JSON.parse(JSON.stringify(value)) as KeptDraft
}

function read(name: string): KeptDraft | null {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? 'null') as KeptDraft | null
  } catch {
    return null
  }
}

function write(name: string, value: KeptDraft, isSecret: (parameter: string) => boolean): void {
  const params = Object.entries(value.draft.params).filter(([parameter]) => !isSecret(parameter))
  const open = { ...value, draft: { ...value.draft, params: Object.fromEntries(params) } }
  try {
    sessionStorage.setItem(name, JSON.stringify(open))
  } catch {
    // Without room the draft lives as long as the page.
  }
}
