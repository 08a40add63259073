import { computed, shallowRef, watch } from 'vue'

import { en, type Texts } from './en'
import { isLanguage, language, languageOf, type Language } from './locale'

export type { Texts } from './en'

/** All texts of the dashboard in the language of the reader. English until another language has been loaded. */
export const texts = shallowRef<Texts>(en)

/** Only English is part of the first visit. The others are loaded when they are needed. */
const LOADERS: Readonly<Record<Language, () => Promise<Texts>>> = {
  en: () => Promise.resolve(en),
  de: async () => (await import('./de')).de,
}

/** Return the word for a name that the server has sent; the name itself if a newer server sends one without a word. */
export function wordFor(words: Readonly<Record<string, string>>, name: string): string {
  return words[name] ?? name
}

const KEY = 'horae.language'

/** The language that the reader has chosen; null for the browser's. It is stored for the next visit. */
export const chosenLanguage = shallowRef<Language | null>(storedLanguage())

const wanted = computed(() => chosenLanguage.value ?? languageOf(navigator.languages))

function storedLanguage(): Language | null {
  const stored = localStorage.getItem(KEY)
  return isLanguage(stored) ? stored : null
}

/**
 * Show the page in the chosen language, now and after each choice. Resolves when the first language is shown. If a
 * language cannot be loaded, the page stays as it is and `onError` is called.
 */
export async function applyLanguage(
  onError: (error: unknown) => void,
  root: HTMLElement = document.documentElement,
): Promise<void> {
  watch(chosenLanguage, (chosen) => {
    if (chosen === null) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, chosen)
  })
  watch(wanted, (next) => void show(next, root).catch(onError))
  await show(wanted.value, root).catch(onError)
}

async function show(next: Language, root: HTMLElement): Promise<void> {
  const loaded = await LOADERS[next]()
  if (next !== wanted.value) return // another language was chosen in the meantime
  texts.value = loaded
  language.value = next
  root.lang = next
}
