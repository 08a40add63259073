import {
  createClient,
  JobTracker,
  type ClientOptions,
  type HoraeClient,
  type PollingOptions,
} from '@horae/client'

import { NotifyingCells } from './cells'

/** The client and the jobs of a page. */
export interface Horae {
  readonly client: HoraeClient
  /** The jobs of all components. */
  readonly store: JobTracker
  readonly polling: Partial<PollingOptions>
  /** Call the listener after changes of the jobs. Returns a function that removes it. */
  readonly subscribe: (listener: () => void) => () => void
}

export interface HoraeOptions extends ClientOptions {
  /** The client to use. By default one is created from the other options. */
  readonly client?: HoraeClient
  readonly polling?: Partial<PollingOptions>
}

/**
 * Create what `HoraeProvider` provides. Call it once, outside of components. It requests nothing until a component follows a
 * job.
 */
export function createHorae(options: HoraeOptions = {}): Horae {
  const { client: given, polling = {}, ...clientOptions } = options
  const cells = new NotifyingCells()
  const client = given ?? createClient(clientOptions, cells.create)
  const store = new JobTracker({ client, polling, createCell: cells.create })
  return { client, store, polling, subscribe: cells.subscribe }
}
