import { afterEach, describe, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'

import { durationText } from '@/format/duration'
import { agoText } from '@/format/moment'
import { countText } from '@/format/number'
import { de } from '@/texts/de'
import { en } from '@/texts/en'
import { language, languageOf, localeOf } from '@/texts/locale'
import { applyLanguage, chosenLanguage, texts, wordFor } from '@/texts/texts'

afterEach(async () => {
  chosenLanguage.value = null
  await vi.waitUntil(() => language.value === 'en')
})

/** All texts of a language by their path; a function counts as its source. */
function leaves(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
    const here = path === '' ? name : `${path}.${name}`
    if (typeof each === 'object' && each !== null) return leaves(each, here)
    return [[here, String(each)] as [string, string]]
  })
}

describe('the languages', () => {
  it('have the same texts, none of them empty', () => {
    const german = leaves(de)
    // English has these from the server, and shows the codes of the journal as they are.
    const own = /^(sentences\.(query|refused|stored|value)_|journal\.(actions|outcomes)\.)/
    expect(
      german
        .map(([path]) => path)
        .filter((path) => !own.test(path))
        .sort(),
    ).toEqual(
      leaves(en)
        .map(([path]) => path)
        .sort(),
    )
    expect(german.filter(([, text]) => text.trim() === '')).toEqual([])
  })
})

describe('the language of the browser', () => {
  it.each([
    [['de-AT', 'en'], 'de'],
    [['fr-FR', 'de'], 'de'],
    [['fr'], 'en'],
    [[], 'en'],
  ])('%s shows %s', (tags, shown) => {
    expect(languageOf(tags)).toBe(shown)
  })

  it('keeps the variant for dates and numbers', () => {
    expect(localeOf('en', ['de', 'en-GB'])).toBe('en-GB')
    expect(localeOf('de', ['en-GB'])).toBe('de')
  })
})

it('a chosen language is loaded, kept, and followed by lang, numbers and times', async () => {
  const root = document.createElement('html')
  await applyLanguage((error) => expect.fail(String(error)), root)
  expect([root.lang, texts.value.common.back]).toEqual(['en', 'Back'])

  chosenLanguage.value = 'de'
  await vi.waitUntil(() => root.lang === 'de')
  expect(texts.value.common.back).toBe('Zurück')
  expect(localStorage.getItem('horae.language')).toBe('de')
  expect(countText(12_345)).toBe('12.345')
  expect(durationText(1.44)).toBe('1,4 s')
  expect(agoText('2030-01-01T11:56:40Z', Date.parse('2030-01-01T12:00:00Z'))).toBe('vor 3 min')

  chosenLanguage.value = null
  await nextTick()
  expect(localStorage.getItem('horae.language')).toBeNull()
})

it('a name without a word is shown as it is', () => {
  expect([wordFor({ open: 'offen' }, 'open'), wordFor({}, 'new')]).toEqual(['offen', 'new'])
})
