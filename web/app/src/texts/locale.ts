import { computed, shallowRef } from 'vue'

/** The languages of the dashboard, each by its own name. */
export const LANGUAGES = { en: 'English', de: 'Deutsch' } as const
export type Language = keyof typeof LANGUAGES

/** The language in which the page is shown. `texts.ts` sets it together with the texts. */
export const language = shallowRef<Language>('en')

/** The language tag for numbers and dates: the browser's variant of the language, such as `en-GB`, if it has one. */
export const locale = computed(() => localeOf(language.value, navigator.languages))

export function isLanguage(tag: string | null | undefined): tag is Language {
  return typeof tag === 'string' && tag in LANGUAGES
}

/** Return the first language of the browser that the dashboard has; English if there is none. */
export function languageOf(tags: readonly string[]): Language {
  return tags.map(primaryOf).find(isLanguage) ?? 'en'
}

export function localeOf(shown: Language, tags: readonly string[]): string {
  return tags.find((tag) => primaryOf(tag) === shown) ?? shown
}

function primaryOf(tag: string): string {
  return tag.toLowerCase().split('-')[0] ?? ''
}
