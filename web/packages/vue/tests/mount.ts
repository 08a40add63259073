import { createPinia } from 'pinia'
import { createApp, defineComponent, h, type App, type Component } from 'vue'

import { createHorae, type HoraeOptions } from '../src'

export interface Mounted {
  readonly app: App
  readonly element: HTMLElement
  unmount: () => void
}

/** Mount a component with Pinia and the Horae plugin. */
export function mount(component: Component, options: HoraeOptions, props: object = {}): Mounted {
  const element = document.createElement('div')
  document.body.append(element)
  const app = createApp(component, { ...props })
  app.use(createPinia()).use(createHorae(options)).mount(element)
  return {
    app,
    element,
    unmount: () => {
      app.unmount()
      element.remove()
    },
  }
}

/** Mount a component that only runs a setup function, and return its result. */
export function withSetup<Result>(
  setup: () => Result,
  options: HoraeOptions,
): Mounted & { result: Result } {
  let result: Result | undefined
  const component = defineComponent({
    setup: () => {
      result = setup()
      return () => h('div')
    },
  })
  const mounted = mount(component, options)
  return { ...mounted, result: result as Result }
}
