import type { JobId } from '../api/model'

/** The largest number of ids that are remembered. */
const MOST = 200

/** The ids of unfinished jobs, kept over a reload of the page. */
export interface RememberedIds {
  readonly read: () => JobId[]
  readonly write: (ids: readonly JobId[]) => void
}

/**
 * Keep ids in the session storage: it belongs to one tab, so the end of a job is reported to each tab that has seen it
 * run, and not to one that is opened a day later.
 */
export function idsInSessionStorage(key: string): RememberedIds {
  return {
    read: () => {
      try {
        const stored: unknown = JSON.parse(sessionStorage.getItem(key) ?? '[]')
        return Array.isArray(stored) ? stored.filter(isId).slice(-MOST) : []
      } catch {
        return [] // the storage is blocked, or another program has written to it
      }
    },
    write: (ids) => {
      try {
        sessionStorage.setItem(key, JSON.stringify(ids.slice(-MOST)))
      } catch {
        return // without the storage only an end during a reload is missed
      }
    },
  }
}

function isId(value: unknown): value is JobId {
  return Number.isSafeInteger(value)
}
