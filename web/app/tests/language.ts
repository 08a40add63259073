import { vi } from 'vitest'

import { language, type Language } from '@/texts/locale'
import { applyLanguage, chosenLanguage } from '@/texts/texts'

/** Show all texts in a language, as a choice of the reader does. */
export async function showIn(tag: Language): Promise<void> {
  await applyLanguage(() => undefined)
  chosenLanguage.value = tag
  await vi.waitUntil(() => language.value === tag)
}
