import type { ClientOptions } from '@horae/client'
import { defineCustomElement } from 'vue'

import JobElement from './elements/JobElement.vue'
import ProgressElement from './elements/ProgressElement.vue'
import { configureElements } from './elements/jobSources'

/**
 * Define `<horae-job>` and `<horae-progress>`. A second call only changes the options of elements that are created
 * later.
 */
export function defineHoraeElements(options: Omit<ClientOptions, 'baseUrl'> = {}): void {
  configureElements(options)
  if (customElements.get('horae-job')) return
  customElements.define('horae-job', defineCustomElement(JobElement))
  customElements.define('horae-progress', defineCustomElement(ProgressElement))
}
