import { act, StrictMode, type ReactElement, type ReactNode } from 'react'
import { createRoot, type Root } from 'react-dom/client'

import { createHorae, HoraeProvider, type Horae, type HoraeProviderProps } from '../src'
import { pass, type FakeServer } from '../../client/tests/fakes'

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true })

/** A page with a provider, in strict mode, which runs each effect twice. */
export class Page {
  readonly element = document.createElement('div')
  readonly horae: Horae
  readonly #root: Root
  readonly #provided: Omit<HoraeProviderProps, 'horae' | 'children'>

  constructor(server: FakeServer, provided: Omit<HoraeProviderProps, 'horae' | 'children'> = {}) {
    this.horae = createHorae({ client: server.client() })
    this.#provided = provided
    document.body.append(this.element)
    this.#root = createRoot(this.element)
  }

  async show(content: ReactNode): Promise<void> {
    const page: ReactElement = (
      <StrictMode>
        <HoraeProvider horae={this.horae} {...this.#provided}>
          {content}
        </HoraeProvider>
      </StrictMode>
    )
    await acted(() => this.#root.render(page))
  }

  async leave(): Promise<void> {
    await acted(() => this.#root.unmount())
    this.element.remove()
  }
}

/** Do something, and let React render what has changed. */
export async function acted(work: () => unknown): Promise<void> {
  await act(async () => {
    await work()
  })
}

/** Advance the fake timers, and let React render what has changed. */
export async function after(milliseconds = 0): Promise<void> {
  await acted(() => pass(milliseconds))
}
