import { defineCustomElement } from 'vue'

import type { ClientOptions } from './client/client'
import JobElement from './elements/JobElement.vue'
import ProgressElement from './elements/ProgressElement.vue'
import { configureElements } from './elements/keepers'

/** Define `<horae-job>` and `<horae-progress>`; a second call only changes how new elements speak to their servers. */
export function defineHoraeElements(options: Omit<ClientOptions, 'baseUrl'> = {}): void {
  configureElements(options)
  if (customElements.get('horae-job')) return
  customElements.define('horae-job', defineCustomElement(JobElement))
  customElements.define('horae-progress', defineCustomElement(ProgressElement))
}
