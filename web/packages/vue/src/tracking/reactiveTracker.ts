import { JobTracker as PlainTracker, type TrackerOptions } from '@horae/client'
import { shallowRef } from 'vue'

/** Follows jobs until they end. Templates and watchers follow its values. */
export class JobTracker extends PlainTracker {
  constructor(options: TrackerOptions) {
    super({ createCell: shallowRef, ...options })
  }
}
