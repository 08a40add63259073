import { shallowRef, watch } from 'vue'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'horae.theme'

export function readTheme(text: string | null): Theme {
  return THEMES.find((theme) => theme === text) ?? 'system'
}

/** What the user has chosen; the operating system decides unless they have. */
export const theme = shallowRef<Theme>(readTheme(localStorage.getItem(KEY)))

/** Let the page follow the choice, now and later. */
export function followTheme(root: HTMLElement = document.documentElement): void {
  watch(
    theme,
    (chosen) => {
      localStorage.setItem(KEY, chosen)
      if (chosen === 'system') delete root.dataset['theme']
      else root.dataset['theme'] = chosen
    },
    { immediate: true },
  )
}

/** Call back when the looks may have changed: by choice, or by the operating system. */
export function onThemeChange(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', listener)
  const stop = watch(theme, listener, { flush: 'post' })
  return () => {
    system.removeEventListener('change', listener)
    stop()
  }
}
