import { expect, it } from 'vitest'
import { createApp } from 'vue'

import LongName from '@/components/LongName.vue'

/** Return the parts of a name: the first is truncated where there is no room, the second is not. */
function partsOf(name: string): string[] {
  const place = document.createElement('div')
  const app = createApp(LongName, { name })
  app.mount(place)
  const parts = [...place.querySelectorAll('span span')].map((part) => part.textContent)
  app.unmount()
  return parts
}

it('keeps the end of a long name', () => {
  expect(partsOf('import_customers_of_2026')).toEqual(['import_customers', '_of_2026'])
  expect(partsOf('send_mail')).toEqual(['send_mail', ''])
})

it('parts no character that takes two units of a string', () => {
  expect(partsOf('send_letters_to_🛒1234567')).toEqual(['send_letters_to_', '🛒1234567'])
})
